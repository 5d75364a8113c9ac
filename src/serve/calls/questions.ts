/** Requests of servers that wait for the answer of a legacy client, which may reach another replica. */
import { StateError } from "../../errors/state-error.js";
import { Fault, INTERNAL_ERROR, storeAway } from "../faults.js";
import { type ClientResponse, isFields } from "../message.js";
import type { Mailbox } from "../replicas/mailbox.js";
import type { Seal } from "../replicas/seal.js";

const PURPOSE = "question";

export class Questions {
  readonly #mailbox: Mailbox;
  readonly #seal: Pick<Seal, "seal" | "openFresh">;
  #count = 0;

  constructor(mailbox: Mailbox, seal: Pick<Seal, "seal" | "openFresh">) {
    this.#mailbox = mailbox;
    this.#seal = seal;
  }

  /** Sends a question with a new id, and waits for the answer. */
  ask(
    principal: string | undefined,
    send: (id: string) => void,
    signal: AbortSignal,
  ): Promise<ClientResponse> {
    this.#count += 1;
    // Sealed, so that an invented id costs no letter to another replica.
    const id = this.#seal.seal(PURPOSE, { r: this.#mailbox.replica, n: this.#count, p: principal });
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
    const replica = await this.#replicaOf(String(response.id), principal);
    // An answer to nothing is ignored, as every JSON-RPC peer does.
    if (replica === undefined) return;
    try {
      await this.#mailbox.send(replica, String(response.id), response, { principal });
    } catch (error) {
      if (replica === this.#mailbox.replica) return;
      if (StateError.isInstance(error)) throw storeAway();
      throw new Fault({
        code: INTERNAL_ERROR,
        message: "The call that asked this question is gone, and its outcome is unknown",
        data: { code: "CLOSED", retryable: false, outcome: "unknown", cause: String(error) },
        status: 500,
      });
    }
  }

  /** The replica that asked this user; undefined for any other id. */
  async #replicaOf(id: string, principal: string | undefined): Promise<string | undefined> {
    const opened = await this.#seal.openFresh(PURPOSE, id);
    return isFields(opened) && opened["p"] === principal ? (opened["r"] as string) : undefined;
  }
}
