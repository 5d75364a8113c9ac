/** Decides which listed tools, prompts and resources are offered: the user's scan runs first, then the pins are compared. */

import { CatalogError, toToolportError, type WithheldTool } from "@toolport/base";
import { type ListKey, NO_LISTS, type ServerLists } from "../server-lists.js";
import type { ChangedTool, PinCheck, Pins } from "./pins.js";
import { type ListItem, type ScanHook, scanItems, scanTools } from "./scan.js";

/** Reason for withholding a tool whose definition differs from the pinned one. */
const CHANGED = "Its definition changed since it was pinned";

/** Start of the reason for withholding a tool whose definition could not be compared with the pinned one. */
const UNCHECKED = "Its definition could not be compared with the pinned one";

/** What is withheld, and why. */
export interface Examined {
  /** Tools that the scan or the pins withhold, by name. */
  readonly refused: ReadonlyMap<string, string>;
  /** Tools whose definition changed since it was pinned. */
  readonly changed: ReadonlySet<string>;
  /** Tools that the scan withholds, by name. */
  readonly scanned: ReadonlyMap<string, string>;
  /** Entries of the other lists that the scan withholds. */
  readonly refusedItems: ReadonlyMap<ListItem, string>;
  /** The store failed during the comparison: compare again later. */
  readonly isPinCheckDue: boolean;
}

/** The result for lists that are not examined. */
export const NOT_EXAMINED: Examined = {
  refused: new Map(),
  changed: new Set(),
  scanned: new Map(),
  refusedItems: new Map(),
  isPinCheckDue: false,
};

interface ExaminationRules {
  readonly scan: ScanHook | undefined;
  readonly pins: Pins;
  readonly onToolChanged: (change: ChangedTool) => void;
  readonly onWarning: (message: string) => void;
}

/** Lists that were read together. */
export interface ListsToExamine {
  readonly lists: ServerLists;
  readonly keys: readonly ListKey[];
}

/**
 * Scans the lists and compares the tools with their pins. If the store fails in mode `block`, tools are withheld. What is not
 * among the keys keeps the result of `before`.
 */
export async function examineLists(
  server: string,
  { lists, keys }: ListsToExamine,
  before: Examined,
  rules: ExaminationRules,
): Promise<Examined> {
  const { scan, pins } = rules;
  if (scan === undefined && pins.mode === "off") return NOT_EXAMINED;
  const scanned = keys.includes("tools")
    ? await scanTools(scan, { name: server }, lists.tools.tools)
    : before.scanned;
  const refusedItems = await scanItems(scan, { name: server }, only(lists, keys));
  if (!keys.includes("tools")) return { ...before, refusedItems };
  return { scanned, refusedItems, ...(await comparePins(server, { lists, scanned }, rules)) };
}

const only = (lists: ServerLists, keys: readonly ListKey[]): ServerLists => ({
  ...NO_LISTS,
  ...Object.fromEntries(keys.map((key) => [key, lists[key]])),
});

type Compared = Pick<Examined, "refused" | "changed" | "isPinCheckDue">;

/** Compares the same tools with the current pins and reports new changes; undefined if there are none. */
export async function comparePinsAgain(
  server: string,
  before: Examined & { readonly lists: ServerLists },
  { pins, onToolChanged }: Pick<ExaminationRules, "pins" | "onToolChanged">,
): Promise<Compared | undefined> {
  const now = await comparePins(server, before, {
    pins,
    onToolChanged: (change) => {
      if (!before.changed.has(change.tool)) onToolChanged(change);
    },
    // A failure was reported when the lists were read.
    onWarning: () => {},
  });
  const isSame =
    now.isPinCheckDue === before.isPinCheckDue &&
    now.refused.size === before.refused.size &&
    [...now.refused].every(([tool, reason]) => before.refused.get(tool) === reason) &&
    [...now.changed].every((tool) => before.changed.has(tool));
  return isSame ? undefined : now;
}

/** The reasons of the scan take precedence over those of the pins. */
async function comparePins(
  server: string,
  { lists, scanned }: { lists: ServerLists; scanned: Examined["scanned"] },
  { pins, onToolChanged, onWarning }: Omit<ExaminationRules, "scan">,
): Promise<Compared> {
  const check = await pins.check(server, lists.tools.tools);
  const refused = new Map(scanned);
  for (const change of check.changed) onToolChanged(change);
  if (check.unchecked.length > 0) onWarning(warningOf(check, pins));
  if (pins.mode === "block") {
    const refuse = (tool: string, reason: string) => {
      if (!refused.has(tool)) refused.set(tool, reason);
    };
    for (const { tool } of check.changed) refuse(tool, CHANGED);
    for (const { tool, error } of check.unchecked) refuse(tool, `${UNCHECKED}: ${whatOf(error)}`);
  }
  return {
    refused,
    changed: new Set(check.changed.map(({ tool }) => tool)),
    isPinCheckDue: check.isIncomplete,
  };
}

const whatOf = (error: unknown): string => toToolportError(error).what;

function warningOf({ unchecked }: PinCheck, { mode }: Pins): string {
  const [first] = unchecked;
  const which = unchecked.length === 1 ? `The tool ${first!.tool}` : `${unchecked.length} tools`;
  const outcome = mode === "block" ? "withheld" : "offered unchecked";
  const { what, next, code } = toToolportError(first!.error);
  const advice = next === undefined ? "" : ` ${next}.`;
  return `${which} could not be compared with the pinned definitions and will be ${outcome}: ${what}.${advice} (${code})`;
}

/** `TOOL_CHANGED` if the user can accept a new definition, otherwise `TOOL_WITHHELD`. */
export function withheldError({ server, name, reason }: WithheldTool): CatalogError {
  return new CatalogError({
    code: reason === CHANGED ? "TOOL_CHANGED" : "TOOL_WITHHELD",
    server,
    tool: name,
    what: `The tool is withheld: ${reason}`,
    next: adviceOn(reason),
    reason,
  });
}

function adviceOn(reason: string): string {
  if (reason === CHANGED) return "Review the new definition, and accept it with approveTools()";
  if (reason.startsWith(UNCHECKED)) return "Repair the store; the next call compares the definitions again";
  return "Check the filters, or withheldTools in snapshot()";
}
