/** Listens for the redirects of logins that were started in the console. */

import { canParseUrl, readField } from "@toolport/base";
import { type CallbackListener, type CallbackVisit, openCallbackListener } from "@toolport/config/internal";
import type { ServerReport, Toolport } from "@toolport/core";

/** How long the user may take. */
const LOGIN_MS = 300_000;
const LOOPBACK = ["127.0.0.1", "localhost"];

export interface LoginCallbacksOptions {
  readonly toolport: Toolport;
  /** The console's own `host:port`. Redirects to it need no listener. */
  readonly ownHost: string;
  readonly log: (message: string) => void;
}

interface OpenListener {
  readonly listener: CallbackListener;
  /** Servers by the `state` of their login. */
  readonly waiting: Map<string, string>;
  timer: NodeJS.Timeout;
}

export class LoginCallbacks {
  /** By redirect URL. */
  readonly #listeners = new Map<string, Promise<OpenListener | undefined>>();
  #isClosed = false;

  constructor(readonly options: LoginCallbacksOptions) {}

  /** Connects the server. If it requires a login, listens for the redirect. */
  async authorize(server: string, signal: AbortSignal): Promise<ServerReport> {
    const report = await this.options.toolport.connectServer(server, { signal });
    if (report.authUrl !== undefined) await this.#listenFor(server, new URL(report.authUrl));
    return report;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const listeners = await Promise.all(this.#listeners.values());
    this.#listeners.clear();
    await Promise.all(listeners.map((open) => open && close(open)));
  }

  /** Ignores redirect URLs on other machines: the host program handles them itself. */
  async #listenFor(server: string, authUrl: URL): Promise<void> {
    const redirectUrl = authUrl.searchParams.get("redirect_uri");
    const state = authUrl.searchParams.get("state");
    if (redirectUrl === null || state === null || !canParseUrl(redirectUrl)) return;
    const { protocol, hostname, host, port } = new URL(redirectUrl);
    if (protocol !== "http:" || !LOOPBACK.includes(hostname) || port === "" || host === this.options.ownHost)
      return;
    const opening = this.#listeners.get(redirectUrl) ?? this.#open(redirectUrl);
    this.#listeners.set(redirectUrl, opening);
    const open = await opening;
    if (open === undefined || this.#isClosed) return;
    open.waiting.set(state, server);
    open.timer.refresh();
  }

  async #open(redirectUrl: string): Promise<OpenListener | undefined> {
    try {
      const listener = await openCallbackListener({ redirectUrl });
      const timer = setTimeout(() => this.#closeListener(redirectUrl), LOGIN_MS).unref();
      const open = { listener, waiting: new Map<string, string>(), timer };
      listener.onvisit = (visit) => void this.#end(redirectUrl, open, visit);
      if (this.#isClosed) await close(open);
      return open;
    } catch (error) {
      // Most likely the host program already listens there.
      this.#listeners.delete(redirectUrl);
      this.options.log(`The console cannot listen for the login: ${String(readField(error, "what"))}`);
      return undefined;
    }
  }

  /** Never rejects. */
  async #end(redirectUrl: string, { waiting }: OpenListener, visit: CallbackVisit): Promise<void> {
    const state = visit.params.get("state") ?? "";
    const server = waiting.get(state);
    waiting.delete(state);
    let isDone = false;
    try {
      if (server !== undefined) {
        await this.options.toolport.finishAuth(server, visit.params);
        isDone = true;
      }
    } catch (error) {
      this.options.log(`A login failed: ${String(readField(error, "what"))}`);
    }
    await visit.answer(isDone);
    if (waiting.size === 0) this.#closeListener(redirectUrl);
  }

  #closeListener(redirectUrl: string): void {
    const opening = this.#listeners.get(redirectUrl);
    this.#listeners.delete(redirectUrl);
    void opening?.then((open) => open && close(open));
  }
}

function close({ listener, timer }: OpenListener): Promise<void> {
  clearTimeout(timer);
  return listener.close();
}
