/** How a program describes a server of an agent, and what the agent saves about it in addition to the port, in the same store. */
import type { ClientOptions } from "@modelcontextprotocol/client";
import { canParseUrl, definedFields, hashText, StateError, toToolportError } from "@toolport/base";
import type { HttpServerEntry } from "@toolport/core";
import { type Store, userPrefix } from "@toolport/stores";

/** Headers in any form that `new Headers()` accepts. */
export type HeadersInput = NonNullable<ConstructorParameters<typeof Headers>[0]>;

/** How to connect to a server. */
export interface TransportOptions {
  /** Sent with every request. */
  headers?: HeadersInput;
  /**
   * `"streamable-http"`, the old `"sse"`, or `"auto"`: Streamable HTTP first, then SSE if the server does not support it.
   * @default "auto"
   */
  type?: "sse" | "streamable-http" | "auto";
}

/** Options of {@link McpClientManager.registerServer}. */
export interface ServerRegistration {
  /** The server's MCP endpoint. */
  url: string;
  /** A name to show. */
  name: string;
  /** The URL to which the browser returns after a login. Empty: this server needs no login. */
  callbackUrl: string;
  /** For the SDK's client. */
  clientOptions?: ClientOptions;
  transportOptions?: TransportOptions;
}

export function toServerEntry(registration: ServerRegistration): HttpServerEntry {
  const { url, callbackUrl, clientOptions, transportOptions = {} } = registration;
  const { type = "auto" } = transportOptions;
  const headers = Object.fromEntries(new Headers(transportOptions.headers));
  const mode = clientOptions?.versionNegotiation?.mode;
  // An own `Authorization` header replaces the login.
  const wantsLogin = callbackUrl !== "" && headers["authorization"] === undefined;
  return definedFields({
    url: normaliseUrl(url),
    transport: type,
    automaticSSEFallback: type === "auto",
    headers: Object.keys(headers).length > 0 ? headers : undefined,
    oauth: wantsLogin ? { redirectUrl: callbackUrl } : undefined,
    protocol: mode,
    clientOptions,
  });
}

/** A fingerprint of a server's options. The callback URL is left out, because it depends on the request. */
export function printOf({ oauth: _, ...entry }: HttpServerEntry): string {
  return hashText(JSON.stringify(entry, (_key, value: unknown) => plain(value)));
}

/** Validators cannot be compared, so a new one counts as the same. */
function plain(value: unknown): unknown {
  if (typeof value === "function") return "[function]";
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return [Object.prototype, null].includes(Object.getPrototypeOf(value)) ? value : "[object]";
}

/** Normalises an address. */
export function normaliseUrl(text: string): string {
  if (!canParseUrl(text)) return text;
  const url = new URL(text);
  url.hash = "";
  return url.href;
}

export interface ServerRecord {
  /** The name to show. */
  readonly name: string;
  /** Normalised. */
  readonly url: string;
  readonly callbackUrl: string;
  /** Fingerprint of the description of the server. */
  readonly print: string;
}

export class ServerRecords {
  readonly #prefix: string;
  readonly #records = new Map<string, ServerRecord>();

  /** @param warn if the store fails, the server is not saved but works */
  constructor(
    private readonly store: Store | undefined,
    principal: string | undefined,
    private readonly warn: (message: string) => void,
  ) {
    this.#prefix = userPrefix("agents", principal);
  }

  get ids(): string[] {
    return [...this.#records.keys()];
  }

  get(id: string): ServerRecord | undefined {
    return this.#records.get(id);
  }

  /** The id of this server: the existing one, or one that is derived from its name and address. */
  idFor(name: string, url: string): string {
    const address = normaliseUrl(url);
    const isIt = (record: ServerRecord) => record.name === name && record.url === address;
    const same = [...this.#records].find(([, record]) => isIt(record));
    if (same !== undefined) return same[0];
    for (let attempt = 1; ; attempt += 1) {
      // It is the prefix of tool names, which must start with a letter and have at most 64 characters.
      const id = `s${hashText(JSON.stringify([name, address, attempt])).slice(0, 9)}`;
      if (!this.#records.has(id)) return id;
    }
  }

  async set(id: string, record: ServerRecord): Promise<void> {
    this.#records.set(id, record);
    // An address may contain a key.
    await this.#attempt("saved", (store) => store.put(this.#key(id), record, { secret: true }));
  }

  async delete(id: string): Promise<void> {
    this.#records.delete(id);
    await this.#attempt("deleted", (store) => store.delete(this.#key(id)));
  }

  /**
   * Loads the saved servers.
   *
   * @throws StateError if it is sealed with a key that is missing
   */
  async restore(): Promise<void> {
    await this.#attempt("read", async (store) => {
      const keys = await store.list(this.#prefix);
      await Promise.all(
        keys.map(async (key) => {
          const value = (await store.get(key))?.value;
          if (isRecord(value)) this.#records.set(decodeURIComponent(key.slice(this.#prefix.length)), value);
        }),
      );
    });
  }

  #key(id: string): string {
    return `${this.#prefix}${encodeURIComponent(id)}`;
  }

  async #attempt(what: string, run: (store: Store) => Promise<unknown>): Promise<void> {
    if (this.store === undefined) return;
    try {
      await run(this.store);
    } catch (error) {
      // A missing key is an error, not an empty store.
      if (StateError.isInstance(error) && error.code === "KEY_MISMATCH") throw error;
      this.warn(`The server records of an agent could not be ${what}: ${toToolportError(error).message}`);
    }
  }
}

const isRecord = (value: unknown): value is ServerRecord => {
  const { name, url, callbackUrl, print } = (value ?? {}) as Partial<ServerRecord>;
  return [name, url, callbackUrl, print].every((text) => typeof text === "string");
};
