/** The rows of the waiting pane: calls that wait, and those that ended while the page was open. */
import type { WaitingView } from "../console-api.js";
import type { Failure } from "./api.js";

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
export function mergeWaiting(
  rows: readonly WaitingRow[],
  calls: readonly WaitingView[],
): readonly WaitingRow[] {
  const waiting = new Set(calls.map(({ id }) => id));
  const kept = rows.flatMap((row): WaitingRow[] => {
    if (row.isBusy || !isOpen(row)) return [row];
    if (waiting.has(row.call.id)) return [row];
    return row.isTouched || row.failure !== null ? [{ ...row, isGone: true }] : [];
  });
  const known = new Set(kept.map(({ call }) => call.id));
  const fresh = calls.filter(({ id }) => !known.has(id));
  return [...kept, ...fresh.map((call) => ({ ...BLANK, slot: ++slots, call }))];
}

const BLANK = { isBusy: false, isTouched: false, isGone: false, failure: null, note: null };

/** Changes one row. Another row for the same call, which a listing may have added meanwhile, is removed. */
export const replaceWaiting = (
  rows: readonly WaitingRow[],
  slot: number,
  changes: Partial<WaitingRow>,
): readonly WaitingRow[] =>
  rows.flatMap((row) => {
    if (row.slot === slot) return [{ ...row, ...changes }];
    return changes.call !== undefined && row.call.id === changes.call.id ? [] : [row];
  });
