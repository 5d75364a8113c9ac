/** Wraps any SDK `Transport` that the user's function returns. */
import type {
  JSONRPCMessage,
  MessageExtraInfo,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/client";
import { ConnectionError, ToolportError, toToolportError } from "@toolport/base";
import type { CustomConfig } from "../../config/server-config.js";
import { notOpenError, type ServerTransport } from "../server-transport.js";

/** Calls the user's function, once for every connection, and wraps its result. */
export async function wrapCustomTransport(config: CustomConfig): Promise<ServerTransport> {
  let inner: Transport;
  try {
    inner = await config.createTransport();
  } catch (error) {
    throw toTypedError(config.name, error, "The function that makes the transport failed");
  }
  const transport = new CustomTransport(config.name, inner);
  // The SDK tests `'pid' in transport`: define these only if the original has them.
  for (const key of ["pid", "stderr", "firstSign"] as const) {
    if (key in inner)
      Object.defineProperty(transport, key, { get: () => Reflect.get(inner, key), enumerable: true });
  }
  return transport;
}

class CustomTransport implements ServerTransport {
  readonly kind = "custom";
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void;
  onerror?: (error: Error) => void;
  onclose?: () => void;
  ondiscard?: ServerTransport["ondiscard"];
  onstreamcut?: ServerTransport["onstreamcut"];
  onsessionlost?: ServerTransport["onsessionlost"];
  closeError: ToolportError | undefined;
  setProtocolVersion?: (version: string) => void;
  setSupportedProtocolVersions?: (versions: string[]) => void;
  endSession?: () => Promise<void>;
  #state: "open" | "closing" | "closed" = "open";
  #closing: Promise<void> | undefined;

  constructor(
    private readonly server: string,
    private readonly inner: ServerTransport | Transport,
  ) {
    if (inner.setProtocolVersion) this.setProtocolVersion = (version) => inner.setProtocolVersion?.(version);
    if (inner.setSupportedProtocolVersions) {
      this.setSupportedProtocolVersions = (versions) => inner.setSupportedProtocolVersions?.(versions);
    }
    if ("endSession" in inner) this.endSession = async () => inner.endSession?.();
    this.#listen(inner);
  }

  get sessionId(): string | undefined {
    return this.inner.sessionId;
  }

  get hasPerRequestStream(): boolean {
    return this.inner.hasPerRequestStream ?? false;
  }

  async start(): Promise<void> {
    if (!this.#isOpen()) throw notOpenError(this.server, this.closeError);
    try {
      await this.inner.start();
    } catch (error) {
      throw toTypedError(this.server, error, "The transport could not be started");
    }
    // It may have been closed meanwhile.
    if (!this.#isOpen()) throw notOpenError(this.server, this.closeError);
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (!this.#isOpen()) throw notOpenError(this.server, this.closeError);
    await this.inner.send(message, options);
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  #isOpen(): boolean {
    return this.#state === "open";
  }

  async #end(): Promise<void> {
    if (!this.#isOpen()) return;
    this.#state = "closing";
    try {
      await this.inner.close();
    } catch (error) {
      this.onerror?.(error as Error);
    } finally {
      // Some transports do not call `onclose`; call ours in any case, once.
      this.#shut();
    }
  }

  /** Listeners that the user's function has set are called first, as in the SDK. */
  #listen(inner: ServerTransport | Transport): void {
    const { onmessage, onerror, onclose } = inner;
    inner.onmessage = (message: JSONRPCMessage, extra?: MessageExtraInfo) => {
      onmessage?.call(inner, message, extra);
      this.onmessage?.(message, extra);
    };
    inner.onerror = (error) => {
      onerror?.call(inner, error);
      this.onerror?.(error);
    };
    inner.onclose = () => {
      onclose?.call(inner);
      if (this.#isOpen()) this.closeError = this.#closedByItself();
      this.#shut();
    };
    if (!("kind" in inner)) return;
    inner.ondiscard = (discarded) => this.ondiscard?.(discarded);
    inner.onstreamcut = (id, error) => this.onstreamcut?.(id, error);
    inner.onsessionlost = (error) => this.onsessionlost?.(error);
  }

  #shut(): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.onclose?.();
  }

  #closedByItself(): ToolportError {
    const known = (this.inner as { closeError?: unknown }).closeError;
    if (ToolportError.isInstance(known)) return known;
    return new ConnectionError({
      code: "CLOSED",
      what: "The transport closed unexpectedly",
      next: "The next call opens a new connection",
      server: this.server,
      retryable: true,
    });
  }
}

/** Errors that the converter recognises are used as they are; others are wrapped with `what`. */
function toTypedError(server: string, error: unknown, what: string): ToolportError {
  const known = toToolportError(error, { server, phase: "connect" });
  if (known.code !== "UNEXPECTED") return known;
  return new ConnectionError({
    code: "UNREACHABLE",
    what,
    next: "See the cause of this error",
    server,
    retryable: true,
    outcome: "unsent",
    cause: error,
  });
}
