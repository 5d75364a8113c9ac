/** The calls that wait for a person. Their tokens stay in this process: the page knows them by an id. */

import { createHash } from "node:crypto";
import { BoundedMap, SuspensionError } from "@toolport/base";
import { isSuspended, type ResumeInput, type Suspended } from "@toolport/core";
import type { Observer } from "./observer.js";
import { redactJson } from "./redact-json.js";

/** How often the calls of other processes are looked for while a page is open. */
const POLL_MS = 2_000;
/** Tokens of calls that no longer wait are kept, because a call whose outcome is unknown can be sent again. */
const MAX_KNOWN = 1_000;

export class WaitingCalls {
  readonly #known = new BoundedMap<string, { readonly token: string; readonly server: string }>(MAX_KNOWN);
  readonly #stop: () => void;
  readonly #timer: NodeJS.Timeout;
  #seen: string | undefined;
  #isPolling = false;

  /** @param answeredBy for events and audit logs */
  constructor(
    readonly observer: Observer,
    readonly answeredBy: string,
  ) {
    const { toolport, feed } = observer;
    const principal = toolport.snapshot().principal ?? undefined;
    this.#stop = toolport.on("suspension", (news) => {
      if (news.principal === principal) feed.publish({ type: "waiting" });
    });
    this.#timer = setInterval(() => void this.#poll(), POLL_MS).unref();
  }

  /** Oldest first. Only those of the port's own principal. */
  async list() {
    return (await this.observer.toolport.suspended()).map((call) => this.#view(call));
  }

  /** The server that a resumed call is sent to. */
  async serverOf(id: string): Promise<string> {
    return (await this.#find(id)).server;
  }

  /** Not aborted when the page disconnects: the person has decided, and the outcome would be unknown. */
  async resume(id: string, input: Omit<ResumeInput, "answeredBy">) {
    const { token } = await this.#find(id);
    const decision = { ...input, answeredBy: this.answeredBy };
    const outcome = await this.observer.toolport.resume(token, decision).catch(throwPlainly);
    return isSuspended(outcome) ? { next: this.#view(outcome) } : { result: redactJson(outcome) };
  }

  async discard(id: string): Promise<void> {
    const { token } = await this.#find(id);
    await this.observer.toolport.discard(token, { answeredBy: this.answeredBy }).catch(throwPlainly);
  }

  close(): void {
    this.#stop();
    clearInterval(this.#timer);
  }

  async #find(id: string) {
    if (!this.#known.has(id)) await this.list();
    const call = this.#known.get(id);
    if (call === undefined) throw gone();
    return call;
  }

  #view(call: Suspended) {
    const { token, server, tool, args, round, expiresAt, reason } = call;
    const id = createHash("sha256").update(token).digest("hex").slice(0, 32);
    this.#known.set(id, { token, server });
    return {
      /** Derived from its token, and useless without the console. */
      id,
      reason,
      server,
      tool,
      round,
      expiresAt: Date.parse(expiresAt),
      args: redactJson(args),
      // The person has to see the question as the server wrote it.
      questions:
        reason === "input"
          ? Object.entries(call.requests).map(([key, request]) => ({ key, ...request }))
          : [],
      authUrl: reason === "login" ? (call.requests.authUrl ?? null) : null,
    };
  }

  /** Tells the pages about calls that other processes suspended, finished or discarded. */
  async #poll(): Promise<void> {
    const { feed } = this.observer;
    if (this.#isPolling || !feed.hasPages) return;
    this.#isPolling = true;
    try {
      const seen = (await this.list()).map(({ id }) => id).join();
      if (seen !== this.#seen) feed.publish({ type: "waiting" });
      this.#seen = seen;
    } catch {
      // The store fails: the page learns of it with its next action.
    } finally {
      this.#isPolling = false;
    }
  }
}

const gone = (): SuspensionError =>
  new SuspensionError({
    code: "SUSPENSION_UNKNOWN",
    what: "This call no longer waits: it was answered or discarded elsewhere, or it has expired",
    outcome: "unsent",
  });

/** Replaces advice for programs. */
function throwPlainly(error: unknown): never {
  throw error instanceof SuspensionError && error.code === "SUSPENSION_UNKNOWN" ? gone() : error;
}
