/** Answers the messages of an app (MCP Apps, JSON-RPC over `postMessage`). Everything it receives is untrusted. */
import type { AppView } from "../console-api.js";

const PROTOCOL_VERSION = "2026-01-26";
/** Messages within one second; further ones are dropped. */
const MAX_PER_SECOND = 200;
/** After this many dropped messages, the app is stopped. */
const MAX_DROPPED = 1_000;
const MAX_RUNNING = 4;
const MAX_ARGUMENTS = 250_000;
const MAX_DECLINED = 2;
const MAX_LINK = 2_000;

type Fields = Readonly<Record<string, unknown>>;

export interface AppMessageParts {
  readonly view: AppView;
  readonly args: unknown;
  readonly result: unknown;
  readonly version: string;
  readonly send: (message: object) => void;
  readonly call: (name: string, args: Fields) => Promise<unknown>;
  /** Asks the user, then opens the page. Resolves to false if the user declines. */
  readonly openLink: (url: URL) => Promise<boolean>;
  readonly resize: (height: number) => void;
  readonly stop: (reason: string | null) => void;
}

const fields = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};

/** An answer with an error code of JSON-RPC. */
class Refusal extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** What a server would have sent as its result. */
function toCallResult(result: unknown): object {
  const { content, structuredContent, isError, _meta } = fields(result);
  return {
    content: Array.isArray(content) ? content : [],
    ...(structuredContent !== undefined && { structuredContent }),
    ...(isError === true && { isError }),
    ...(_meta !== undefined && { _meta }),
  };
}

export class AppMessages {
  readonly #parts: AppMessageParts;
  #second = 0;
  #count = 0;
  #dropped = 0;
  #running = 0;
  #declined = 0;
  #isAsking = false;
  #isWelcomed = false;
  #isReady = false;

  constructor(parts: AppMessageParts) {
    this.#parts = parts;
  }

  /** Handles one message. Reads nothing of it above the limit. */
  receive(event: { readonly data: unknown }): void {
    if (this.#isTooMuch()) return;
    const { jsonrpc, id, method, params } = fields(event.data);
    if (jsonrpc !== "2.0" || typeof method !== "string") return;
    if (typeof id !== "string" && typeof id !== "number") return this.#notified(method, fields(params));
    this.#answer(method, fields(params)).then(
      (result) => this.#parts.send({ jsonrpc, id, result }),
      (error: Error) =>
        this.#parts.send({
          jsonrpc,
          id,
          error: { code: error instanceof Refusal ? error.code : -32000, message: error.message },
        }),
    );
  }

  notify(method: string, params: object): void {
    if (this.#isReady) this.#parts.send({ jsonrpc: "2.0", method: `ui/notifications/${method}`, params });
  }

  #isTooMuch(): boolean {
    const second = Math.floor(performance.now() / 1_000);
    if (second !== this.#second) [this.#second, this.#count] = [second, 0];
    if (++this.#count <= MAX_PER_SECOND) return false;
    if (++this.#dropped === MAX_DROPPED) this.#parts.stop("it sent too many messages");
    return true;
  }

  #notified(method: string, params: Fields): void {
    if (!this.#isWelcomed) return;
    if (method === "ui/notifications/size-changed" && typeof params["height"] === "number")
      this.#parts.resize(params["height"]);
    else if (method === "ui/notifications/request-teardown") this.#parts.stop(null);
    else if (method === "ui/notifications/initialized" && !this.#isReady) {
      this.#isReady = true;
      this.notify("tool-input", { arguments: fields(this.#parts.args) });
      this.notify("tool-result", toCallResult(this.#parts.result));
    }
  }

  async #answer(method: string, params: Fields): Promise<object> {
    if (!this.#isWelcomed && method !== "ui/initialize")
      throw new Refusal(-32600, "Send ui/initialize first");
    switch (method) {
      case "ui/initialize":
        return this.#welcome();
      case "ping":
        return {};
      case "tools/call":
        return this.#call(params);
      case "ui/open-link":
        return this.#openLink(String(params["url"]));
      case "ui/request-display-mode":
        return { mode: "inline" };
      // There is no conversation that could take it.
      case "ui/message":
        return { isError: true };
      default:
        throw new Refusal(-32601, "The console does not support this method");
    }
  }

  #welcome(): object {
    const { view, version } = this.#parts;
    this.#isWelcomed = true;
    return {
      protocolVersion: PROTOCOL_VERSION,
      hostInfo: { name: "toolport-console", version },
      hostCapabilities: { openLinks: {}, serverTools: {} },
      hostContext: {
        toolInfo: { tool: view.tool },
        theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
        displayMode: "inline",
        availableDisplayModes: ["inline"],
        locale: navigator.language,
        timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
        userAgent: `toolport-console/${version}`,
        platform: "web",
      },
    };
  }

  async #call(params: Fields): Promise<object> {
    const { name, arguments: args = {} } = params;
    if (typeof name !== "string" || JSON.stringify(args).length > MAX_ARGUMENTS)
      throw new Refusal(-32602, "The name or the arguments of the tool are invalid");
    if (this.#running >= MAX_RUNNING)
      throw new Refusal(-32000, "Too many calls are running. Try again later");
    this.#running++;
    try {
      return toCallResult(await this.#parts.call(name, fields(args)));
    } finally {
      this.#running--;
    }
  }

  /** Asks one question at a time, and none after the user declined twice. */
  async #openLink(text: string): Promise<object> {
    // The user has to read the whole address.
    const url = text.length <= MAX_LINK && URL.canParse(text) ? new URL(text) : undefined;
    const isWeb = url?.protocol === "https:" || url?.protocol === "http:";
    if (url === undefined || !isWeb || this.#isAsking || this.#declined >= MAX_DECLINED)
      return { isError: true };
    this.#isAsking = true;
    const isOpened = await this.#parts.openLink(url);
    this.#isAsking = false;
    if (isOpened) return {};
    this.#declined++;
    return { isError: true };
  }
}
