/** Observes a port for the console: its state, calls, latencies and activity. */
import type { StateChange } from "../connection/connection-state.js";
import type { CallNews, CallProgressNews } from "../execution/listeners.js";
import type { ServerNotification } from "../port/events.js";
import type { Toolport } from "../toolport.js";
import { redactText } from "../util/redact-text.js";
import { CallLog } from "./call-log.js";
import { Consent } from "./consent.js";
import type { ActivityView, ConsoleEvent, StateView } from "./console-api.js";
import { EventFeed } from "./event-feed.js";
import { Latencies } from "./latencies.js";
import { ServerHistory } from "./server-history.js";
import type { ServerQuestions } from "./server-questions.js";
import { TrafficLog } from "./traffic-log.js";
import { toStateView } from "./views.js";
import { WatchedResources } from "./watched-resources.js";

const MAX_ACTIVITY = 200;
/** Pages get the progress of one call at most once in this time. */
const PROGRESS_MS = 100;

export interface ObserverOptions {
  readonly toolport: Toolport;
  readonly hasStore: boolean;
  readonly sources: Readonly<Record<string, string>>;
  readonly questions: ServerQuestions | undefined;
}

export class Observer {
  readonly calls: CallLog;
  readonly consent: Consent;
  readonly feed: EventFeed;
  readonly traffic: TrafficLog;
  readonly watched: WatchedResources;
  readonly history = new ServerHistory();
  readonly #options: ObserverOptions;
  readonly #principal: string | undefined;
  readonly #latencies = new Latencies();
  readonly #activity: ActivityView[] = [];
  readonly #stops: (() => void)[];
  /** By the id of the running call. */
  readonly #progressSentAt = new Map<number, number>();
  #entries = 0;
  #catalogVersion = 1;

  constructor(options: ObserverOptions) {
    const { toolport } = options;
    this.#options = options;
    this.#principal = toolport.snapshot().principal ?? undefined;
    for (const { name, state } of Object.values(toolport.snapshot().servers))
      this.history.addState(name, state);
    this.calls = new CallLog(this.#principal);
    this.consent = new Consent(toolport);
    this.feed = new EventFeed(() => ({ type: "state", state: this.state() }));
    this.traffic = new TrafficLog((entry) => this.feed.addTraffic(entry));
    this.watched = new WatchedResources(toolport, () => this.feed.stateChanged());
    const { questions } = options;
    if (questions !== undefined)
      questions.onchange = () => this.feed.publish({ type: "questions", questions: questions.list() });
    const isOurs = (event: { readonly principal?: string | undefined }) =>
      event.principal === this.#principal;
    this.#stops = [
      toolport.on("message", (message) => void (isOurs(message) && this.traffic.addMessage(message))),
      toolport.on("stderr", (line) => void (isOurs(line) && this.traffic.addLine(line.server, line.line))),
      toolport.on("authRequest", (request) => void (isOurs(request) && this.traffic.addAuthRequest(request))),
      toolport.on("state", (change) => this.#onState(change)),
      toolport.on("tools", ({ principal }) => {
        if (principal !== this.#principal) return;
        this.#catalogVersion++;
        this.feed.stateChanged();
      }),
      toolport.on("toolChanged", ({ server, tool, principal }) => {
        if (principal === this.#principal)
          this.#note("change", server, `The definition of ${tool} differs from its pinned version`);
      }),
      toolport.on("call", (news) => this.#onCall(news)),
      toolport.on("progress", (news) => this.#onProgress(news)),
      toolport.on("notification", (notification) => this.#onNotification(notification)),
      toolport.on("warning", ({ server, message }) => this.#note("warning", server, message)),
    ];
  }

  get catalogVersion(): number {
    return this.#catalogVersion;
  }

  state(): StateView {
    const { toolport, sources, hasStore } = this.#options;
    return toStateView({
      snapshot: toolport.snapshot(),
      latencies: this.#latencies,
      consent: this.consent,
      sources,
      catalogVersion: this.#catalogVersion,
      hasStore,
      canAnswer: this.#options.questions !== undefined,
      subscriptions: this.watched.list(),
    });
  }

  /** The first event for a new page. */
  hello(): ConsoleEvent {
    const questions = this.#options.questions?.list() ?? [];
    return { type: "hello", calls: this.calls.list(), activity: [...this.#activity].reverse(), questions };
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    this.feed.close();
    await this.watched.close();
  }

  #onState({ server, from, to, reason, error, principal }: StateChange): void {
    if (principal !== this.#principal) return;
    this.history.addState(server, to);
    if (to === "connecting") this.consent.noteStart(server);
    const why = error === undefined ? reason : `${reason}. ${error.what}`;
    this.#note("state", server, `${from} → ${to}: ${why}`);
    this.feed.stateChanged();
  }

  #onCall(news: CallNews): void {
    // The console of the shared port shows calls of all users, the console of a user only that user's.
    if (this.#principal !== undefined && news.principal !== this.#principal) return;
    this.#latencies.add(news);
    this.history.addCall(news);
    const call = this.calls.add(news);
    if (call !== undefined) this.feed.publish({ type: "call", call });
    if (news.phase === "start") return;
    this.#progressSentAt.delete(news.id);
    this.feed.stateChanged();
  }

  #onProgress(news: CallProgressNews): void {
    if (this.#principal !== undefined && news.principal !== this.#principal) return;
    const call = this.calls.progressed(news);
    const now = performance.now();
    const last = this.#progressSentAt.get(news.id) ?? Number.NEGATIVE_INFINITY;
    if (call === undefined || now - last < PROGRESS_MS) return;
    this.#progressSentAt.set(news.id, now);
    this.feed.publish({ type: "call", call });
  }

  #onNotification({ server, method, params, principal }: ServerNotification): void {
    if (principal !== this.#principal || method !== "notifications/message") return;
    const { level, data } = params;
    this.#note("log", server, `${level}: ${typeof data === "string" ? data : JSON.stringify(data)}`);
  }

  #note(kind: ActivityView["kind"], server: string | undefined, text: string): void {
    const entry = {
      id: ++this.#entries,
      at: Date.now(),
      kind,
      server: server ?? null,
      text: redactText(text),
    };
    this.#activity.push(entry);
    if (this.#activity.length > MAX_ACTIVITY) this.#activity.shift();
    this.feed.publish({ type: "activity", entry });
  }
}
