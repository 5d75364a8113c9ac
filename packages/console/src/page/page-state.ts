/** The state of the page, and the functions that change it. */
import { useEffect, useState } from "preact/hooks";
import type {
  ActionName,
  ActionValue,
  ActivityView,
  CallSummary,
  CatalogView,
  ConsoleEvent,
  ServerQuestionView,
  StartCommand,
  StateView,
  TrafficEntry,
  WaitingView,
} from "../console-api.js";
import { ask, Failure, type Link, listen } from "./api.js";

const MAX_CALLS = 200;
const MAX_ACTIVITY = 200;
const MAX_TRAFFIC = 2_000;

/** A question in a modal dialog. */
export interface Question {
  readonly title: string;
  readonly text: string;
  /** @default none */
  readonly commands?: readonly StartCommand[];
  readonly confirm: string;
  readonly answer: (agreed: boolean) => void;
}

let current = {
  link: "connecting" as Link,
  state: null as StateView | null,
  catalog: null as CatalogView | null,
  calls: [] as readonly CallSummary[],
  waiting: [] as readonly WaitingRow[],
  activity: [] as readonly ActivityView[],
  /** Open questions of servers, oldest first. */
  questions: [] as readonly ServerQuestionView[],
  /** Messages, newest first. */
  traffic: [] as readonly TrafficEntry[],
  /** Grows when programs have started, changed or ended. */
  programsVersion: 0,
  question: null as Question | null,
  /** A temporary message to the user. */
  notice: null as { readonly id: number; readonly text: string; readonly isBad: boolean } | null,
};
export type PageState = Readonly<typeof current>;
const watchers = new Set<() => void>();

export function change(changes: Partial<PageState>): void {
  current = { ...current, ...changes };
  for (const watcher of watchers) watcher();
}

/** Returns the current state and redraws on every change. */
export function usePage(): PageState {
  const [, redraw] = useState(0);
  useEffect(() => {
    const watcher = () => redraw((count) => count + 1);
    watchers.add(watcher);
    return () => void watchers.delete(watcher);
  }, []);
  return current;
}

/** Starts to receive events. */
export function start(): void {
  void listen(onEvent, (link) => change({ link }));
}

function onEvent(event: ConsoleEvent): void {
  switch (event.type) {
    case "hello":
      change({ calls: event.calls, activity: event.activity, questions: event.questions });
      programsChanged();
      void load("traffic");
      return void loadWaiting();
    case "state":
      change({ state: event.state });
      return void loadCatalog(event.state.catalogVersion);
    case "call":
      return change({ calls: withCall(event.call) });
    case "activity":
      return change({ activity: [event.entry, ...current.activity].slice(0, MAX_ACTIVITY) });
    case "traffic":
      if (event.skipped > 0) return void load("traffic");
      return change({ traffic: [...event.entries.toReversed(), ...current.traffic].slice(0, MAX_TRAFFIC) });
    case "questions":
      return change({ questions: event.questions });
    case "waiting":
      return void loadWaiting();
    case "programs":
      return programsChanged();
    case "missed":
      programsChanged();
      void load("questions");
      void loadWaiting();
      return void load("calls");
  }
}

const programsChanged = (): void => change({ programsVersion: current.programsVersion + 1 });

function withCall(call: CallSummary): readonly CallSummary[] {
  const isKnown = current.calls.some(({ id }) => id === call.id);
  if (isKnown) return current.calls.map((old) => (old.id === call.id ? call : old));
  return [call, ...current.calls].slice(0, MAX_CALLS);
}

let loading: Promise<void> | undefined;

/** Loads one catalog at a time, even if a server changes its lists often. */
async function loadCatalog(version: number): Promise<void> {
  if (loading !== undefined || current.catalog?.version === version) return;
  loading = ask("catalog").then((catalog) => change({ catalog }), ignore);
  await loading;
  loading = undefined;
  const newest = current.state?.catalogVersion;
  if (newest !== undefined && current.catalog !== null && current.catalog.version < newest)
    void loadCatalog(newest);
}

/** Loads all that the console keeps. */
export const load = (list: "calls" | "questions" | "traffic"): Promise<void> =>
  ask(list).then((value) => change({ [list]: value }), ignore);

let listings = 0;

/** Loads the calls that wait. An older answer does not replace a newer one. */
export async function loadWaiting(): Promise<void> {
  const mine = ++listings;
  await ask("waiting").then((calls) => {
    if (mine === listings) change({ waiting: mergeWaiting(current.waiting, calls) });
  }, ignore);
}

/** Changes one row. Another row for the same call, which a listing may have added meanwhile, is removed. */
export const changeWaiting = (slot: number, changes: Partial<WaitingRow>): void =>
  change({
    waiting: current.waiting.flatMap((row) => {
      if (row.slot === slot) return [{ ...row, ...changes }];
      return row.call.id === changes.call?.id ? [] : [row];
    }),
  });

export const dismissWaiting = (slot: number): void =>
  change({ waiting: current.waiting.filter((row) => row.slot !== slot) });

let notices = 0;

export function showNotice(text: string, isBad = false): void {
  change({ notice: { id: ++notices, text, isBad } });
}

/** Asks the user. */
export const question = (asked: Omit<Question, "answer">): Promise<boolean> =>
  new Promise((resolve) => {
    const answer = (agreed: boolean) => {
      change({ question: null });
      resolve(agreed);
    };
    change({ question: { ...asked, answer } });
  });

/** Requests an action. If it would start a program, asks the user first. Undefined if the user declines. */
export async function askWithConsent<Name extends ActionName>(
  action: Name,
  body: object,
  signal?: AbortSignal,
): Promise<ActionValue<Name> | undefined> {
  try {
    return await ask(action, body, signal);
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "CONSENT_NEEDED") throw error;
    if (!(await agreeToStart(error.detail.commands ?? []))) return undefined;
    return ask(action, { ...body, consent: true }, signal);
  }
}

export const agreeToStart = (commands: readonly StartCommand[]): Promise<boolean> =>
  question({
    title: commands.length === 1 ? "Start a program on this machine?" : "Start programs on this machine?",
    text: "It runs with your permissions. Start it only if you trust it.",
    commands,
    confirm: "Start",
  });

/** Requests an action and shows its failure as a notice. */
export async function act<Name extends ActionName>(
  action: Name,
  body: object,
): Promise<ActionValue<Name> | undefined> {
  try {
    return await askWithConsent(action, body);
  } catch (error) {
    showNotice((error as Error).message, true);
    return undefined;
  }
}

const ignore = () => {};

export interface WaitingRow {
  /** Stays the same when the next round of the call takes the place of this one. */
  readonly slot: number;
  readonly call: WaitingView;
  /** A decision is being sent. */
  readonly isBusy: boolean;
  /** The user has begun to answer. */
  readonly isTouched: boolean;
  /** The call no longer waits. */
  readonly isGone: boolean;
  readonly failure: Failure | null;
  /** A message above the form. */
  readonly note: string | null;
  readonly result?: unknown;
}

/** Whether the call still waits for the user. */
export const isOpen = (row: WaitingRow): boolean => !row.isGone && row.result === undefined;

let slots = 0;

/** Keeps rows with an outcome or with input of the user, removes others that no longer wait, and appends new ones. */
function mergeWaiting(rows: readonly WaitingRow[], calls: readonly WaitingView[]): readonly WaitingRow[] {
  const waiting = new Set(calls.map(({ id }) => id));
  const remaining = rows.flatMap((row): WaitingRow[] => {
    if (row.isBusy || !isOpen(row) || waiting.has(row.call.id)) return [row];
    return row.isTouched || row.failure !== null ? [{ ...row, isGone: true }] : [];
  });
  const ids = new Set(remaining.map(({ call }) => call.id));
  const blank = { isBusy: false, isTouched: false, isGone: false, failure: null, note: null };
  const fresh = calls.filter(({ id }) => !ids.has(id));
  return [...remaining, ...fresh.map((call) => ({ ...blank, slot: ++slots, call }))];
}
