/** Requests of servers that wait for the answer of a legacy client, which may reach another replica. */
import { Fault, INTERNAL_ERROR } from "../faults.js";
import type { ClientResponse, RequestId } from "../message.js";
import type { Mailbox } from "../replicas/mailbox.js";

export class Questions {
  readonly #mailbox: Mailbox;
  #count = 0;

  constructor(mailbox: Mailbox) {
    this.#mailbox = mailbox;
  }

  /** Sends a question with a new id, and waits for the answer. */
  ask(
    principal: string | undefined,
    send: (id: string) => void,
    signal: AbortSignal,
  ): Promise<ClientResponse> {
    this.#count += 1;
    const id = `${this.#mailbox.replica}/${this.#count}/${crypto.randomUUID().slice(0, 8)}`;
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        stop();
        reject(signal.reason);
      };
      const onAnswer = async (body: unknown) => {
        stop();
        signal.removeEventListener("abort", onAbort);
        resolve(body as ClientResponse);
        return true;
      };
      const stop = this.#mailbox.receive(id, onAnswer, { principal });
      if (signal.aborted) return onAbort();
      signal.addEventListener("abort", onAbort, { once: true });
      send(id);
    });
  }

  /** Delivers an answer of a client, here or on the replica that asked. Throws if that replica is gone. */
  async answer(response: ClientResponse, principal: string | undefined): Promise<void> {
    const replica = replicaOf(response.id);
    // An answer to nothing is ignored, as every JSON-RPC peer does.
    if (replica === undefined) return;
    try {
      await this.#mailbox.send(replica, String(response.id), response, { principal });
    } catch (error) {
      if (replica === this.#mailbox.replica) return;
      throw new Fault({
        code: INTERNAL_ERROR,
        message: "The call that asked this question is gone, and its outcome is unknown",
        data: { code: "CLOSED", retryable: false, outcome: "unknown", cause: String(error) },
        status: 500,
      });
    }
  }
}

function replicaOf(id: RequestId): string | undefined {
  const [replica, count, check, ...more] = String(id).split("/");
  return replica && count && check && more.length === 0 ? replica : undefined;
}
