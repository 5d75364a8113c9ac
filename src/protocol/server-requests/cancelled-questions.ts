/**
 * Cancels the questions that a legacy server asks during a suspendable call and that no handler can answer: such a server
 * waits for the answer on an open connection, so the call cannot be suspended.
 */
import { SuspensionError } from "../../errors/suspension-error.js";
import type { SdkTransport } from "../sdk-transport.js";

export class CancelledQuestions {
  readonly #server: string;
  readonly #transport: SdkTransport;
  readonly #calls = new Set<{ isAsked: boolean }>();

  constructor(server: string, transport: SdkTransport) {
    this.#server = server;
    this.#transport = transport;
  }

  /** Throws `NOT_OFFERED` after a call that asked something. */
  async during<Result>(tool: string, run: () => Promise<Result>): Promise<Result> {
    const call = { isAsked: false };
    this.#calls.add(call);
    this.#transport.oncancelledquestion = () => this.#cancelled();
    try {
      const result = await run();
      if (call.isAsked) throw askedLive(this.#server, tool);
      return result;
    } finally {
      this.#calls.delete(call);
      if (this.#calls.size === 0) this.#transport.oncancelledquestion = undefined;
    }
  }

  /** With several calls in flight the wire does not say which one asks. */
  #cancelled(): void {
    const [call] = this.#calls;
    if (call !== undefined && this.#calls.size === 1) call.isAsked = true;
  }
}

function askedLive(server: string, tool: string): SuspensionError {
  return new SuspensionError({
    code: "NOT_OFFERED",
    server,
    tool,
    what: "The server asked the user during the call, which its protocol revision does not allow to be suspended; Toolport cancelled the question",
    next: "Set the option onElicitation of createToolport, which answers such servers while the call runs",
  });
}
