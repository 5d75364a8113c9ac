/** Observes a port for the console (its state, calls, activity, and the resources that the page subscribed to), and sends what happens to every open page. */

import type { ServerResponse } from "node:http";
import { CLIENT_INFO, redactText, TokenBucket } from "@toolport/base";
import type { Toolport, ToolportEvents } from "@toolport/core";
import { Consent } from "./consent.js";
import {
  CallLog,
  type CallSummary,
  ConsoleRuns,
  ServerHistory,
  type TrafficEntry,
  TrafficLog,
} from "./logs.js";
import type { ServerQuestions } from "./server-questions.js";
import { toServerView } from "./views.js";

const MAX_ACTIVITY = 200;
/** Pages get the progress of one call at most once in this time. */
const PROGRESS_MS = 100;

export interface ObserverOptions {
  readonly toolport: Toolport;
  readonly hasStore: boolean;
  readonly sources: Readonly<Record<string, string>>;
  readonly questions: ServerQuestions | undefined;
}

/** An entry of the activity list. */
export interface ActivityView {
  readonly id: number;
  readonly at: number;
  readonly kind: "state" | "warning" | "log" | "change";
  readonly server: string | null;
  readonly text: string;
}

/** An event of the stream, one JSON value per line. */
export type ConsoleEvent =
  | ReturnType<Observer["hello"]>
  | { readonly type: "state"; readonly state: ReturnType<Observer["state"]> }
  | { readonly type: "call"; readonly call: CallSummary }
  | { readonly type: "activity"; readonly entry: ActivityView }
  /** New messages, oldest first. With `skipped`, that many before them were not sent to the page. */
  | { readonly type: "traffic"; readonly entries: readonly TrafficEntry[]; readonly skipped: number }
  /** The open questions of servers. */
  | { readonly type: "questions"; readonly questions: ReturnType<ServerQuestions["list"]> }
  /** Calls that wait, or programs, have changed. */
  | { readonly type: "waiting" | "programs" }
  /** Events were dropped, because the page could not receive them in time. */
  | { readonly type: "missed"; readonly count: number }
  | { readonly type: "heartbeat" };

/** Events that name their user. */
type OwnEvent = "message" | "stderr" | "authRequest" | "state" | "tools" | "toolChanged" | "notification";

export class Observer {
  readonly calls: CallLog;
  readonly consent: Consent;
  readonly feed: EventFeed;
  readonly traffic: TrafficLog;
  readonly watched: ReturnType<typeof watchResources>;
  readonly history = new ServerHistory();
  readonly runs = new ConsoleRuns();
  readonly toolport: Toolport;
  readonly questions: ServerQuestions | undefined;
  readonly #principal: string | undefined;
  readonly #activity: ActivityView[] = [];
  readonly #stops: (() => void)[];
  /** By the id of the running call. */
  readonly #progressSentAt = new Map<number, number>();
  #entries = 0;
  #catalogVersion = 1;

  constructor(readonly options: ObserverOptions) {
    const { toolport, questions } = options;
    this.toolport = toolport;
    this.questions = questions;
    this.#principal = toolport.snapshot().principal ?? undefined;
    for (const { name, state } of Object.values(toolport.snapshot().servers))
      this.history.addState(name, state);
    this.calls = new CallLog(this.#principal);
    this.consent = new Consent(toolport);
    this.feed = new EventFeed(() => ({ type: "state", state: this.state() }));
    this.traffic = new TrafficLog((entry) => this.feed.addTraffic(entry));
    this.watched = watchResources(toolport, () => this.feed.stateChanged());
    if (questions !== undefined)
      questions.onchange = () => this.feed.publish({ type: "questions", questions: questions.list() });
    /** Ignores events of other users. */
    const onOwn = <Name extends OwnEvent>(name: Name, run: (event: ToolportEvents[Name]) => void) =>
      toolport.on(name, (event) => void (event.principal === this.#principal && run(event)));
    this.#stops = [
      onOwn("message", (message) => this.traffic.addMessage(message)),
      onOwn("stderr", ({ server, line }) => this.traffic.addLine(server, line)),
      onOwn("authRequest", (request) => this.traffic.addAuthRequest(request)),
      onOwn("state", (change) => this.#onState(change)),
      onOwn("tools", () => this.#onTools()),
      onOwn("toolChanged", ({ server, tool }) =>
        this.#note("change", server, `The definition of ${tool} differs from its pinned version`),
      ),
      onOwn("notification", (notification) => this.#onNotification(notification)),
      toolport.on("call", (news) => this.#onCall(news)),
      toolport.on("progress", (news) => this.#onProgress(news)),
      toolport.on("warning", ({ server, message }) => this.#note("warning", server, message)),
    ];
  }

  /** Increases when tools, resources or prompts change. */
  get catalogVersion(): number {
    return this.#catalogVersion;
  }

  state() {
    const { sources, hasStore } = this.options;
    const { principal, servers } = this.toolport.snapshot();
    return {
      principal,
      servers: Object.values(servers).map((server) => ({
        ...toServerView(server),
        /** Where the server is configured. */
        source: Object.hasOwn(sources, server.name) ? (sources[server.name] ?? null) : null,
        latency: this.history.latency(server.name),
        /** Connecting it starts a program that the user has not agreed to yet. */
        needsConsent: this.consent.isNeeded(server),
      })),
      catalogVersion: this.#catalogVersion,
      hasStore,
      /** The page can answer servers and edit the roots. */
      canAnswer: this.questions !== undefined,
      subscriptions: this.watched.list(),
      version: CLIENT_INFO.version,
    };
  }

  /** The first event for a new page. */
  hello() {
    return {
      type: "hello" as const,
      calls: this.calls.list(),
      activity: this.#activity.toReversed(),
      questions: this.questions?.list() ?? [],
    };
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    this.runs.close();
    this.questions?.close();
    this.feed.close();
    await this.watched.close();
  }

  #onTools(): void {
    this.#catalogVersion++;
    this.feed.stateChanged();
  }

  #onState({ server, from, to, reason, error }: ToolportEvents["state"]): void {
    this.history.addState(server, to);
    if (to === "connecting") this.consent.noteStart(server);
    const why = error === undefined ? reason : `${reason}. ${error.what}`;
    this.#note("state", server, `${from} → ${to}: ${why}`);
    this.feed.stateChanged();
  }

  #onCall(news: ToolportEvents["call"]): void {
    // The console of the shared port shows calls of all users, the console of a user only that user's.
    if (this.#principal !== undefined && news.principal !== this.#principal) return;
    this.history.addCall(news);
    const call = this.calls.add(news);
    if (call !== undefined) this.feed.publish({ type: "call", call });
    if (news.phase === "start") return;
    this.#progressSentAt.delete(news.id);
    this.feed.stateChanged();
  }

  #onProgress(news: ToolportEvents["progress"]): void {
    if (this.#principal !== undefined && news.principal !== this.#principal) return;
    const call = this.calls.progressed(news);
    const now = performance.now();
    const last = this.#progressSentAt.get(news.id) ?? Number.NEGATIVE_INFINITY;
    if (call === undefined || now - last < PROGRESS_MS) return;
    this.#progressSentAt.set(news.id, now);
    this.feed.publish({ type: "call", call });
  }

  #onNotification({ server, method, params }: ToolportEvents["notification"]): void {
    if (method !== "notifications/message") return;
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

const MAX_WATCHED = 100;

/**
 * Resources that the page subscribed to, with the number and time of their updates.
 *
 * @param onChange called after every update
 */
function watchResources(toolport: Toolport, onChange: () => void) {
  const watched = new Map<string, { view: SubscriptionView; stop: () => Promise<void> }>();
  return {
    list: () => [...watched.values()].map(({ view }) => view),
    async add(server: string, uri: string, signal: AbortSignal): Promise<void> {
      const key = `${server}\n${uri}`;
      if (watched.has(key) || watched.size >= MAX_WATCHED) return;
      const view: SubscriptionView = { server, uri, updates: 0, updatedAt: null };
      const onUpdate = () => {
        view.updates++;
        view.updatedAt = Date.now();
        onChange();
      };
      watched.set(key, { view, stop: await toolport.subscribe(server, uri, onUpdate, { signal }) });
      onChange();
    },
    async remove(server: string, uri: string): Promise<void> {
      const stop = watched.get(`${server}\n${uri}`)?.stop;
      watched.delete(`${server}\n${uri}`);
      onChange();
      await stop?.();
    },
    async close(): Promise<void> {
      const all = [...watched.values()];
      watched.clear();
      await Promise.all(all.map(({ stop }) => stop().catch(() => {})));
    },
  };
}

export interface SubscriptionView {
  readonly server: string;
  readonly uri: string;
  updates: number;
  /** Epoch milliseconds. */
  updatedAt: number | null;
}

const MAX_PAGES = 16;
/** Maximum size of unsent data for one page. Further events are dropped. */
const MAX_WAITING_BYTES = 1_000_000;
const PER_SECOND = 100;
const STATE_MS = 100;
const HEARTBEAT_MS = 15_000;
const MISSED_MS = 500;
const TRAFFIC_MS = 200;
/** Maximum number of messages that one event carries. Of more, the newest are sent. */
const MAX_TRAFFIC = 200;

export class EventFeed {
  readonly #pages = new Map<ServerResponse, { missed: number }>();
  readonly #bucket = new TokenBucket({ capacity: PER_SECOND, perSecond: PER_SECOND });
  readonly #timers = new Set<NodeJS.Timeout>();
  #stateTimer: NodeJS.Timeout | undefined;
  #trafficTimer: NodeJS.Timeout | undefined;
  #traffic: TrafficEntry[] = [];
  #skipped = 0;

  /** @param state returns the current state */
  constructor(readonly state: () => ConsoleEvent) {
    const every = (ms: number, run: () => void) => this.#timers.add(setInterval(run, ms).unref());
    every(HEARTBEAT_MS, () => this.#send({ type: "heartbeat" }));
    every(MISSED_MS, () => this.#reportMissed());
  }

  get hasPages(): boolean {
    return this.#pages.size > 0;
  }

  /** Returns false if too many pages are open. */
  add(response: ServerResponse, hello: ConsoleEvent): boolean {
    if (this.#pages.size >= MAX_PAGES) return false;
    this.#pages.set(response, { missed: 0 });
    response.once("close", () => this.#pages.delete(response));
    response.writeHead(200, { "content-type": "application/x-ndjson; charset=utf-8" });
    for (const event of [hello, this.state()]) response.write(toLine(event));
    return true;
  }

  /** Sends one event, limited in rate. */
  publish(event: ConsoleEvent): void {
    if (this.#pages.size === 0) return;
    if (this.#bucket.take(1)) return this.#send(event);
    for (const page of this.#pages.values()) page.missed++;
  }

  /** Sends the state soon, once for all changes until then. */
  stateChanged(): void {
    if (this.#pages.size === 0 || this.#stateTimer !== undefined) return;
    this.#stateTimer = setTimeout(() => {
      this.#stateTimer = undefined;
      this.#send(this.state());
    }, STATE_MS).unref();
  }

  /** Sends messages in groups, because there may be thousands a second. */
  addTraffic(entry: TrafficEntry): void {
    if (this.#pages.size === 0) return;
    this.#traffic.push(entry);
    if (this.#traffic.length > MAX_TRAFFIC) {
      this.#traffic.shift();
      this.#skipped++;
    }
    this.#trafficTimer ??= setTimeout(() => {
      const event = { type: "traffic", entries: this.#traffic, skipped: this.#skipped } as const;
      [this.#trafficTimer, this.#traffic, this.#skipped] = [undefined, [], 0];
      this.#send(event);
    }, TRAFFIC_MS).unref();
  }

  close(): void {
    clearTimeout(this.#stateTimer);
    clearTimeout(this.#trafficTimer);
    for (const timer of this.#timers) clearInterval(timer);
    for (const response of this.#pages.keys()) response.end();
    this.#pages.clear();
  }

  #send(event: ConsoleEvent): void {
    if (this.#pages.size === 0) return;
    const line = toLine(event);
    for (const [response, page] of this.#pages) {
      if (response.writableLength > MAX_WAITING_BYTES) page.missed++;
      else response.write(line);
    }
  }

  #reportMissed(): void {
    for (const [response, page] of this.#pages) {
      if (page.missed === 0 || response.writableLength > MAX_WAITING_BYTES) continue;
      response.write(toLine({ type: "missed", count: page.missed }));
      response.write(toLine(this.state()));
      page.missed = 0;
    }
  }
}

const toLine = (event: ConsoleEvent): string => `${JSON.stringify(event)}\n`;
