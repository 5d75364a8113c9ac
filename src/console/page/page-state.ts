/** What the page knows, in one place, and how it changes. */
import { useEffect, useState } from "preact/hooks";
import type {
  ActivityView,
  CallSummary,
  CatalogView,
  ConsoleEvent,
  StartCommand,
  StateView,
} from "../console-api.js";
import { ask, Failure, type Link, listen } from "./api.js";

const MAX_CALLS = 200;
const MAX_ACTIVITY = 200;

/** A question that has to be answered before anything happens. */
export interface Question {
  readonly title: string;
  readonly text: string;
  readonly commands: readonly StartCommand[];
  readonly confirm: string;
  readonly answer: (agreed: boolean) => void;
}

export interface PageState {
  readonly link: Link;
  readonly state: StateView | null;
  readonly catalog: CatalogView | null;
  readonly calls: readonly CallSummary[];
  readonly activity: readonly ActivityView[];
  readonly question: Question | null;
  /** Told to the user in passing. */
  readonly notice: { readonly id: number; readonly text: string; readonly isBad: boolean } | null;
}

let current: PageState = {
  link: "connecting",
  state: null,
  catalog: null,
  calls: [],
  activity: [],
  question: null,
  notice: null,
};
const watchers = new Set<() => void>();

export function change(changes: Partial<PageState>): void {
  current = { ...current, ...changes };
  for (const watcher of watchers) watcher();
}

/** The state of this moment, again at every change. */
export function usePage(): PageState {
  const [, redraw] = useState(0);
  useEffect(() => {
    const watcher = () => redraw((count) => count + 1);
    watchers.add(watcher);
    return () => void watchers.delete(watcher);
  }, []);
  return current;
}

/** Keeps the page up to date from now on. */
export function start(): void {
  void listen(onEvent, (link) => change({ link }));
}

function onEvent(event: ConsoleEvent): void {
  switch (event.type) {
    case "hello":
      return change({ calls: event.calls, activity: event.activity });
    case "state":
      change({ state: event.state });
      return void loadCatalog(event.state.catalogVersion);
    case "call":
      return change({ calls: withCall(event.call) });
    case "activity":
      return change({ activity: [event.entry, ...current.activity].slice(0, MAX_ACTIVITY) });
    case "missed":
      return void ask<CallSummary[]>("calls").then((calls) => change({ calls }), ignore);
  }
}

function withCall(call: CallSummary): readonly CallSummary[] {
  const isKnown = current.calls.some(({ id }) => id === call.id);
  if (isKnown) return current.calls.map((known) => (known.id === call.id ? call : known));
  return [call, ...current.calls].slice(0, MAX_CALLS);
}

let loading: Promise<void> | undefined;

/** One at a time: a server that changes its lists every second is not asked for them every second. */
async function loadCatalog(version: number): Promise<void> {
  if (loading !== undefined || current.catalog?.version === version) return;
  loading = ask<CatalogView>("catalog").then((catalog) => change({ catalog }), ignore);
  await loading;
  loading = undefined;
  const newest = current.state?.catalogVersion;
  if (newest !== undefined && current.catalog !== null && current.catalog.version < newest)
    void loadCatalog(newest);
}

let notices = 0;

export function tell(text: string, isBad = false): void {
  change({ notice: { id: ++notices, text, isBad } });
}

/** Asks the user. */
export const question = (asked: Omit<Question, "answer">): Promise<boolean> =>
  new Promise((resolve) => {
    change({
      question: {
        ...asked,
        answer(agreed) {
          change({ question: null });
          resolve(agreed);
        },
      },
    });
  });

/** Asks for an action; where it would start a program, asks the user first. Undefined if the user does not want that. */
export async function askWithConsent<Value>(
  action: string,
  body: object,
  signal?: AbortSignal,
): Promise<Value | undefined> {
  try {
    return await ask<Value>(action, body, signal);
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "CONSENT_NEEDED") throw error;
    if (!(await agreeToStart(error.detail.commands ?? []))) return undefined;
    return ask<Value>(action, { ...body, consent: true }, signal);
  }
}

export const agreeToStart = (commands: Question["commands"]): Promise<boolean> =>
  question({
    title: commands.length === 1 ? "Start a program on this machine?" : "Start programs on this machine?",
    text: "It runs with your rights. Start it only if you know what it is.",
    commands,
    confirm: "Start",
  });

/** An action whose failure is told in passing. */
export async function act<Value>(action: string, body: object): Promise<Value | undefined> {
  try {
    return await askWithConsent<Value>(action, body);
  } catch (error) {
    tell((error as Error).message, true);
    return undefined;
  }
}

const ignore = () => {};
