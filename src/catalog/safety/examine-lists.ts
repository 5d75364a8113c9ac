/** Decides which listed tools, prompts and resources may be offered: the user's scan first, then the pins. */
import { toToolportError } from "../../errors/to-toolport-error.js";
import type { ServerLists } from "../server-lists.js";
import type { ChangedTool, PinCheck, Pins } from "./pins.js";
import { type ListItem, type ScanHook, scanItems, scanTools } from "./scan.js";

/** Why a tool is withheld whose definition is no longer the pinned one. */
export const CHANGED = "Its definition changed since it was pinned";

/** Begins the reason why a tool is withheld whose definition could not be compared with the pinned one. */
export const UNCHECKED = "Its definition could not be compared with the pinned one";

/** What may not be offered, and why. */
export interface Examined {
  /** Tools that the scan or the pins withhold, by name. */
  readonly refused: ReadonlyMap<string, string>;
  /** Tools whose definition changed since it was pinned. */
  readonly changed: ReadonlySet<string>;
  /** Tools that the scan withholds, by name. */
  readonly scanned: ReadonlyMap<string, string>;
  /** Entries of the other lists that the scan leaves out. */
  readonly refusedItems: ReadonlyMap<ListItem, string>;
  /** The store failed when definitions were compared: compare again. */
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

export interface ExaminationRules {
  readonly scan: ScanHook | undefined;
  readonly pins: Pins;
  readonly onToolChanged: (change: ChangedTool) => void;
  readonly onWarning: (message: string) => void;
}

/** Scans the lists and compares the tools with their pins. A store that fails withholds tools if the pins are to block. */
export async function examineLists(
  server: string,
  lists: ServerLists,
  rules: ExaminationRules,
): Promise<Examined> {
  const scanned = await scanTools(rules.scan, { name: server }, lists.tools.tools);
  const refusedItems = await scanItems(rules.scan, { name: server }, lists);
  return { scanned, refusedItems, ...(await comparePins(server, { lists, scanned }, rules)) };
}

type Compared = Pick<Examined, "refused" | "changed" | "isPinCheckDue">;

/** Compares the same tools with the pins as they are now and reports new changes; undefined if nothing is new. */
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

/** What the scan withholds stays withheld for that reason. */
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
  const fate = mode === "block" ? "withheld" : "offered unchecked";
  const { what, next, code } = toToolportError(first!.error);
  const advice = next === undefined ? "" : ` ${next}.`;
  return `${which} could not be compared with the pinned definitions and will be ${fate}: ${what}.${advice} (${code})`;
}
