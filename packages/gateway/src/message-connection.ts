/** Serves one client over a connection of messages: stdio, or a transport in memory. */

import type { Fields } from "@toolport/base";
import { resultOf } from "./calls/parked-calls.js";
import { RequestCount, recordUnserved, serveRequest } from "./dispatch.js";
import { Fault, toFault } from "./faults.js";
import {
  type ClientMessage,
  type ClientRequest,
  type Exchange,
  type GatewayClient,
  legacyClient,
  type OpenStream,
  readHandshake,
  readModernClient,
  reportsRoots,
  UNNAMED_LEGACY_VERSION,
} from "./message.js";
import type { GatewayParts } from "./request-context.js";
import { errorText, toText } from "./results.js";
import { openLegacyFeed } from "./streams/listen.js";

export class MessageConnection {
  readonly #open = new Map<string, AbortController>();
  /** Ends the held streams. */
  readonly #held = new Map<string, () => void>();
  readonly #session: string;
  /** What a legacy client said in its handshake. */
  #handshake = readHandshake({ protocolVersion: UNNAMED_LEGACY_VERSION });
  #stopFeed: (() => void) | undefined;
  readonly #requests = new RequestCount();
  readonly #closed = new AbortController();
  /** Aborts when the connection is closed. */
  readonly closed: AbortSignal = this.#closed.signal;

  constructor(
    private readonly parts: GatewayParts,
    private readonly principal: string | undefined,
    private readonly write: (text: string) => void,
  ) {
    this.#session = parts.sessions.createLocal();
  }

  /** Takes one message of the client. Never rejects. */
  async receive(message: ClientMessage): Promise<void> {
    try {
      if (message.kind === "request") return await this.#request(message.request);
      if (message.kind === "response")
        return await this.parts.questions.answer(message.response, this.principal);
      const { method, params } = message.notification;
      if (method === "notifications/cancelled")
        this.#open
          .get(JSON.stringify(params["requestId"]))
          ?.abort(new Error("The client cancelled the request"));
      if (method === "notifications/initialized") this.#openFeed();
      if (method === "notifications/progress") this.parts.questions.progress(params, this.principal);
      if (method === "notifications/roots/list_changed") await this.#rootsChanged();
    } catch (error) {
      this.parts.report(error);
    }
  }

  /** Answers a message that could not be read. */
  refuse(error: unknown): void {
    this.write(errorText(null, toFault(error, "legacy")));
  }

  /** Ends held streams with a result, waits for open requests, and closes. */
  async end(drainMs: number): Promise<void> {
    for (const finish of this.#held.values()) finish();
    await this.#requests.drained(drainMs);
    this.close();
  }

  /** The client is gone: aborts everything. */
  close(): void {
    this.#closed.abort(new Error("The client is gone"));
    this.#stopFeed?.();
    this.#stopFeed = undefined;
    for (const controller of this.#open.values()) controller.abort(new Error("The client is gone"));
    for (const finish of this.#held.values()) finish();
    this.parts.sessions.forgetLocal(this.#session);
  }

  async #request(request: ClientRequest): Promise<void> {
    const key = JSON.stringify(request.id);
    const controller = new AbortController();
    let client: GatewayClient;
    try {
      client = this.#clientOf(request);
    } catch (error) {
      const cause = { error, signal: this.closed };
      await recordUnserved(this.parts, { principal: this.principal }, [request], cause);
      if (!(error instanceof Fault)) throw error;
      return this.write(errorText(request.id, error));
    }
    this.#open.set(key, controller);
    this.#requests.begin();
    try {
      const served = await serveRequest(this.parts, client, this.#exchange(key, controller.signal), request);
      // A cancelled request gets no answer, except for the end of a stream.
      if (!controller.signal.aborted) this.write(toText(served.json));
    } finally {
      this.#open.delete(key);
      this.#held.delete(key);
      this.#requests.end();
    }
  }

  #clientOf(request: ClientRequest): GatewayClient {
    const modern = readModernClient(request, { principal: this.principal, scopes: [] });
    if (modern !== undefined) return modern;
    if (request.method === "initialize") this.#handshake = readHandshake(request.params);
    return this.#legacyClient();
  }

  #legacyClient(): GatewayClient {
    const { logLevel } = this.parts.sessions.stateOf(this.#session);
    const user = { principal: this.principal, scopes: [] };
    return legacyClient(user, { ...this.#handshake, logLevel, session: this.#session });
  }

  #exchange(key: string, signal: AbortSignal): Exchange {
    return {
      signal,
      header: undefined,
      notify: (text) => {
        if (!signal.aborted) this.write(text);
      },
      ask: (method, params, until) => this.#ask(method, params, until),
      hold: () => this.#hold(key, signal),
    };
  }

  #ask(method: string, params: Fields | undefined, signal: AbortSignal) {
    return this.parts.questions.ask(this.principal, { method, params, send: this.write }, signal);
  }

  #hold(key: string, signal: AbortSignal): OpenStream {
    let finish!: () => void;
    const closed = new Promise<void>((resolve) => {
      finish = resolve;
    });
    signal.addEventListener("abort", finish, { once: true });
    this.#held.set(key, finish);
    return {
      closed,
      send: (text) => {
        if (!signal.aborted) this.write(text);
      },
    };
  }

  /** Legacy servers that this client has called may ask for the new roots, once. */
  async #rootsChanged(): Promise<void> {
    const { capabilities, capabilityKey } = this.#handshake;
    if (!reportsRoots(capabilities)) return;
    const user = this.parts.users.peek(this.principal);
    await user?.port.callerRootsChanged(capabilityKey, async ({ method, params }, signal) =>
      resultOf(await this.#ask(method, params, AbortSignal.any([signal, this.closed]))),
    );
  }

  /** A legacy client gets all news on its connection. */
  #openFeed(): void {
    if (this.#stopFeed !== undefined) return;
    const { users } = this.parts;
    const arrival = users.arrive(this.principal, false);
    const { user } = arrival;
    let letGo: () => void;
    try {
      letGo = users.openStream(user);
    } finally {
      arrival.end();
    }
    const stop = openLegacyFeed(this.parts, user, {
      client: () => this.#legacyClient(),
      send: this.write,
      usesReplicas: false,
    });
    this.#stopFeed = () => {
      stop();
      letGo();
    };
  }
}
