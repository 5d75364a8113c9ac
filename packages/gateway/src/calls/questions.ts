/** Requests of servers that wait for the answer of a legacy client, which may reach another replica. */
import { type Fields, isRecord, StateError, TokenBucket, timerMs, unrefTimer } from "@toolport/base";
import { INTERNAL_ERROR, internalFault, storeAway } from "../faults.js";
import type { ClientResponse } from "../message.js";
import type { Mailbox } from "../replicas/mailbox.js";
import type { Seal } from "../replicas/seal.js";
import { notificationText, passedParams } from "../results.js";
import type { Question } from "./parked-calls.js";

const PURPOSE = "question";
/** Reports that a server gets of one answer. More are dropped. */
const PROGRESS_LIMIT = { capacity: 100, perSecond: 100 };

interface AnswerProgress {
  readonly principal: string | undefined;
  readonly onProgress: (params: Fields) => void;
  readonly bucket: TokenBucket;
}

export class Questions {
  #count = 0;
  /** Questions whose server wants to know the progress of the answer, by the token that the client got. */
  readonly #progress = new Map<string, AnswerProgress>();

  /** @param limitMs how long a client may take to answer */
  constructor(
    private readonly mailbox: Mailbox,
    private readonly seal: Pick<Seal, "seal" | "openFresh">,
    private readonly limitMs: number,
  ) {}

  /**
   * Sends a question with a new id, and waits for the answer. A client that takes too long has answered with an error. If the wait
   * ends before the answer, the client can close its dialog.
   *
   * @param send sends a text to the client
   */
  ask(
    principal: string | undefined,
    { method, params, send }: Pick<Question, "method" | "params"> & { send: (text: string) => void },
    signal: AbortSignal,
  ): Promise<ClientResponse> {
    this.#count += 1;
    // Sealed, so that an invented id costs no message to another replica.
    const id = this.seal.seal(PURPOSE, { r: this.mailbox.replica, n: this.#count, p: principal });
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const end = () => {
        stop();
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
      };
      const withdraw = () => {
        end();
        send(notificationText("notifications/cancelled", { requestId: id }));
      };
      const onAbort = () => {
        withdraw();
        reject(signal.reason);
      };
      const onAnswer = async (body: unknown) => {
        end();
        resolve(body as ClientResponse);
        return true;
      };
      const stop = this.mailbox.receive(id, onAnswer, { principal });
      const timer = setTimeout(() => {
        withdraw();
        resolve({ id, error: { code: INTERNAL_ERROR, message: "The client did not answer in time" } });
      }, timerMs(this.limitMs));
      unrefTimer(timer);
      signal.addEventListener("abort", onAbort, { once: true });
      send(JSON.stringify({ jsonrpc: "2.0", id, method, ...(params !== undefined && { params }) }));
    });
  }

  /** A token for the progress of an answer, valid until `stop()`. */
  followProgress(
    principal: string | undefined,
    onProgress: (params: Fields) => void,
  ): { readonly token: string; stop(): void } {
    const token = crypto.randomUUID();
    const bucket = new TokenBucket(PROGRESS_LIMIT);
    this.#progress.set(token, { principal, onProgress, bucket });
    return { token, stop: () => void this.#progress.delete(token) };
  }

  /** Takes the parameters of `notifications/progress`. Ignored unless this replica has asked this user. */
  progress(params: Fields, principal: string | undefined): void {
    const { progressToken, progress, _meta, ...rest } = params;
    const known = this.#progress.get(String(progressToken));
    if (known === undefined || known.principal !== principal || !Number.isFinite(progress)) return;
    if (!known.bucket.take(1)) return;
    known.onProgress(passedParams({ ...rest, progress, _meta }));
  }

  /** Delivers an answer of a client, here or on the replica that asked. Throws if that replica is gone. */
  async answer(response: ClientResponse, principal: string | undefined): Promise<void> {
    const replica = await this.#replicaOf(String(response.id), principal);
    // An answer to nothing is ignored, as every JSON-RPC peer does.
    if (replica === undefined) return;
    try {
      await this.mailbox.send(replica, String(response.id), response, { principal });
    } catch (error) {
      if (replica === this.mailbox.replica) return;
      if (StateError.isInstance(error)) throw storeAway();
      const failure = { code: "CLOSED", retryable: false, outcome: "unknown", cause: String(error) };
      const message = "The call that asked this question is gone, and its outcome is unknown";
      throw internalFault(message, failure, { status: 500 });
    }
  }

  /** The replica that asked this user; undefined for any other id. */
  async #replicaOf(id: string, principal: string | undefined): Promise<string | undefined> {
    const opened = await this.seal.openFresh(PURPOSE, id);
    return isRecord(opened) && opened["p"] === principal ? (opened["r"] as string) : undefined;
  }
}
