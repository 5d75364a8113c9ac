/**
 * Notifications of legacy sessions: a cancelled request, changed roots, progress of an answer. The request, or the connection to the
 * server, may belong to another replica, so the first two become notes that all replicas read.
 */
import { type Fields, isRecord } from "@toolport/base";
import { cannotAsk, resultOf } from "../calls/parked-calls.js";
import { invalidParams } from "../faults.js";
import {
  type AskClient,
  type ClientNotification,
  type ClientUser,
  type RequestId,
  reportsRoots,
} from "../message.js";
import type { GatewayParts } from "../request-context.js";
import type { OpenedSession } from "../sessions.js";
import type { EventStream } from "./event-stream.js";

const CANCELLED = "cancelled/";
const ROOTS = "roots/";
const NOTE_MS = 30_000;
/** The key of a note contains the id. Requests with longer ids are cancelled on this replica only. */
const MAX_KEY_CHARS = 256;

/** Names an open request of a session. */
export const openKey = (session: string, id: RequestId): string => `${session}/${JSON.stringify(id)}`;

export class ClientNotices {
  /** Stops following the notes. */
  readonly close: () => void;
  /** The streams for news, by session: servers that ask for the new roots are answered on them. */
  readonly #streams = new Map<string, EventStream>();

  /** @param cancel cancels a request of this replica by its `openKey`; false if there is none */
  constructor(
    private readonly parts: GatewayParts,
    private readonly cancel: (key: string) => boolean,
  ) {
    this.close = parts.notes.onChange((key, note) => {
      if (key.startsWith(CANCELLED)) cancel(key.slice(CANCELLED.length));
      else if (key.startsWith(ROOTS) && isRecord(note?.value))
        this.#rootsChanged(key.slice(ROOTS.length), note.value);
    });
  }

  /** Takes a notification of a session. Ignores all others. */
  async take(
    { method, params }: ClientNotification,
    session: OpenedSession,
    user: ClientUser,
  ): Promise<void> {
    const { notes, questions } = this.parts;
    if (method === "notifications/roots/list_changed") {
      if (!reportsRoots(session.capabilities) || !this.#mayNote(user)) return;
      const value = { p: user.principal, k: session.capabilityKey };
      return notes.set(`${ROOTS}${session.key}`, value, NOTE_MS);
    }
    if (method === "notifications/progress") return questions.progress(params, user.principal);
    if (method !== "notifications/cancelled") return;
    const { requestId } = params;
    if (typeof requestId !== "string" && typeof requestId !== "number")
      throw invalidParams("The id of the request is missing");
    const key = openKey(session.key, requestId);
    if (this.cancel(key) || key.length > MAX_KEY_CHARS || !this.#mayNote(user)) return;
    await notes.set(`${CANCELLED}${key}`, true, NOTE_MS);
  }

  /** The stream for news of a session was opened. */
  streamOpened({ key }: OpenedSession, stream: EventStream): void {
    this.#streams.set(key, stream);
    void stream.closed.then(() => {
      if (this.#streams.get(key) === stream) this.#streams.delete(key);
    });
  }

  #mayNote({ principal }: ClientUser): boolean {
    return this.parts.users.mayWrite(principal, "note");
  }

  #rootsChanged(session: string, { p, k: capabilityKey }: Fields): void {
    const { users, questions, report } = this.parts;
    const principal = p as string | undefined;
    const stream = this.#streams.get(session);
    const ask: AskClient | undefined =
      stream &&
      (async ({ method, params }, signal) => {
        if (!stream.isOpen) throw cannotAsk();
        const question = { method, params, send: (text: string) => stream.send(text) };
        return resultOf(await questions.ask(principal, question, signal));
      });
    users.peek(principal)?.port.callerRootsChanged(String(capabilityKey), ask).catch(report);
  }
}
