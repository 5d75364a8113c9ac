/**
 * Cancels the questions that a legacy server asks during a suspendable call and that no handler can answer: such a server
 * waits for the answer on an open connection, so the call cannot be suspended.
 */
import { SuspensionError } from "../../errors/suspension-error.js";
import type { MessageOrigin } from "../../transports/server-transport.js";
import type { RequestChannel } from "../request-channel.js";

interface AskingCall {
  /** The `owner` of the call's request. */
  readonly owner: object;
  isAsked: boolean;
}

export class CancelledQuestions {
  readonly #server: string;
  readonly #channel: RequestChannel;
  readonly #calls = new Set<AskingCall>();

  constructor(server: string, channel: RequestChannel) {
    this.#server = server;
    this.#channel = channel;
  }

  /** Throws `NOT_OFFERED` after a call that asked something. */
  async during<Result>(tool: string, owner: object, run: () => Promise<Result>): Promise<Result> {
    const call = { owner, isAsked: false };
    const { sdkTransport } = this.#channel;
    this.#calls.add(call);
    sdkTransport.oncancelledquestion = (origin) => this.#cancelled(origin);
    try {
      const result = await run();
      if (call.isAsked) throw askedLive(this.#server, tool);
      return result;
    } finally {
      this.#calls.delete(call);
      if (this.#calls.size === 0) sdkTransport.oncancelledquestion = undefined;
    }
  }

  /** Outside the stream of a call, and with several calls in flight, the wire does not say which one asks. */
  #cancelled(origin: MessageOrigin | undefined): void {
    const owner = this.#channel.ownerOf(origin);
    const calls = [...this.#calls];
    const call = owner === undefined ? calls[0] : calls.find((each) => each.owner === owner);
    if (call !== undefined && (owner !== undefined || calls.length === 1)) call.isAsked = true;
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
