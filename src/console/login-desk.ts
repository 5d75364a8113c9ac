/** Logins that were begun in the console: where the browser comes back to on this machine, somebody listens. */
import { readField } from "../errors/foreign-error.js";
import {
  type CallbackListener,
  type CallbackVisit,
  openCallbackListener,
} from "../node/callback-listener.js";
import type { ServerReport } from "../port/report.js";
import type { Toolport } from "../toolport.js";

/** How long the user may take. */
const LOGIN_MS = 300_000;
const LOOPBACK = ["127.0.0.1", "localhost"];

export interface LoginDeskOptions {
  readonly toolport: Toolport;
  /** The console's own `host:port`: logins that come back there need no listener. */
  readonly ownHost: string;
  readonly log: (message: string) => void;
}

interface OpenDesk {
  readonly listener: CallbackListener;
  /** Servers by the `state` of their login. */
  readonly waiting: Map<string, string>;
  timer: NodeJS.Timeout;
}

export class LoginDesk {
  readonly #options: LoginDeskOptions;
  /** By the address that the browser comes back to. */
  readonly #desks = new Map<string, Promise<OpenDesk | undefined>>();
  #isClosed = false;

  constructor(options: LoginDeskOptions) {
    this.#options = options;
  }

  /** Connects the server; if that takes a login, listens for its end. */
  async authorize(server: string, signal: AbortSignal): Promise<ServerReport> {
    const report = await this.#options.toolport.connectServer(server, { signal });
    if (report.authUrl !== undefined) await this.#expect(server, new URL(report.authUrl));
    return report;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const desks = await Promise.all(this.#desks.values());
    this.#desks.clear();
    await Promise.all(desks.map((desk) => desk && shut(desk)));
  }

  /** A login that comes back to somewhere else is somebody else's to end: the program's own. */
  async #expect(server: string, authUrl: URL): Promise<void> {
    const redirectUrl = authUrl.searchParams.get("redirect_uri");
    const state = authUrl.searchParams.get("state");
    if (redirectUrl === null || state === null || !URL.canParse(redirectUrl)) return;
    const { protocol, hostname, host, port } = new URL(redirectUrl);
    if (protocol !== "http:" || !LOOPBACK.includes(hostname) || port === "" || host === this.#options.ownHost)
      return;
    const known = this.#desks.get(redirectUrl);
    const opening = known ?? this.#open(redirectUrl);
    this.#desks.set(redirectUrl, opening);
    const desk = await opening;
    if (desk === undefined || this.#isClosed) return;
    desk.waiting.set(state, server);
    desk.timer.refresh();
  }

  async #open(redirectUrl: string): Promise<OpenDesk | undefined> {
    try {
      const listener = await openCallbackListener({ redirectUrl });
      const timer = setTimeout(() => this.#shut(redirectUrl), LOGIN_MS).unref();
      const desk = { listener, waiting: new Map<string, string>(), timer };
      listener.onvisit = (visit) => void this.#end(redirectUrl, desk, visit);
      if (this.#isClosed) await shut(desk);
      return desk;
    } catch (error) {
      // Most likely the program itself listens there already.
      this.#desks.delete(redirectUrl);
      this.#options.log(`Nobody can listen for the login: ${String(readField(error, "what"))}`);
      return undefined;
    }
  }

  /** Never rejects. */
  async #end(redirectUrl: string, { waiting }: OpenDesk, { params, answer }: CallbackVisit): Promise<void> {
    const state = params.get("state") ?? "";
    const server = waiting.get(state);
    let isDone = false;
    try {
      if (server !== undefined) {
        waiting.delete(state);
        await this.#options.toolport.finishAuth(server, params);
        isDone = true;
      }
    } catch (error) {
      this.#options.log(`A login did not succeed: ${String(readField(error, "what"))}`);
    }
    await answer(isDone);
    if (waiting.size === 0) this.#shut(redirectUrl);
  }

  #shut(redirectUrl: string): void {
    const opening = this.#desks.get(redirectUrl);
    this.#desks.delete(redirectUrl);
    void opening?.then((desk) => desk && shut(desk));
  }
}

function shut({ listener, timer }: OpenDesk): Promise<void> {
  clearTimeout(timer);
  return listener.close();
}
