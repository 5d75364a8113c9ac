/**
 * Everything that can happen to one list: its server, the stream of reports, requests, and another user who shares public lists.
 * `explore` tries every order of events and checks that after quiet the list is that of the server, with one read for each
 * reason to read.
 */
import {
  isDue,
  isFresh,
  type ListEvent,
  type ListState,
  MAX_REPEATED_READS,
  UNKNOWN_LIST,
} from "./list-state.js";

export type Step = (state: ListState, event: ListEvent) => ListState;

/** Whether a list contains the latest change. */
type Age = "none" | "current" | "old";

interface World {
  readonly state: ListState;
  /** Whether the known list contains the latest change. */
  readonly isCurrent: boolean;
  /** The known list was read for another user. */
  readonly isAdopted: boolean;
  /** The request under way: not yet at the server, or with the list that the server has made. */
  readonly request: "no" | "sent" | "current" | "old";
  /** `accepted`: the server reports changes, and the acknowledgement is under way. */
  readonly stream: "no" | "sent" | "accepted" | "open";
  /** Reports under way on the stream; 2 stands for several. */
  readonly reports: 0 | 1 | 2;
  /** The list that users share. */
  readonly shared: Age;
  /** No user has learnt of a change since the read under way began, so its list may be shared. */
  readonly mayShare: boolean;
  /** The shared list was read after the last event that made the known one changed. */
  readonly isSharedLater: boolean;
  /** No user has learnt of the latest change. */
  readonly isUnnoticed: boolean;
  /** The stream ended since the list was adopted. */
  readonly wasInterrupted: boolean;
  /** Something has happened since the last read began that needs another one. */
  readonly hasReason: boolean;
  /** A read must follow. */
  readonly mustRead: boolean;
  /** Failed reads since the last other reason to read. */
  readonly failures: number;
  readonly isClosed: boolean;
}

const START: Omit<World, "state"> = {
  isCurrent: false,
  isAdopted: false,
  request: "no",
  stream: "no",
  reports: 0,
  shared: "none",
  mayShare: true,
  isSharedLater: true,
  isUnnoticed: false,
  wasInterrupted: false,
  hasReason: true,
  mustRead: false,
  failures: 0,
  isClosed: false,
};

/** An order of events after which a rule does not hold. */
export interface Violation {
  readonly rule: string;
  readonly events: readonly string[];
}

/** What must always be true. */
export const RULES = {
  fresh: "After quiet, the list is fresh",
  current: "After quiet, the list is that of the server",
  followed: "Each reason to read is followed by a read",
  one: "One read at a time",
  reason: "Each read has a reason of its own",
  closed: "A closed reader reads nothing",
  failing: "A list that keeps failing is not read for ever",
  replaced: "A fresh list is not replaced by a shared one",
  adopted: "A list that may lack a change is not adopted",
} as const;

class BrokenRule extends Error {}

function rule(holds: boolean, text: string): void {
  if (!holds) throw new BrokenRule(text);
}

const isKnown = ({ state }: World): boolean => state.known !== "no";

/** What can happen, by name. Undefined: it cannot happen now. */
const EVENTS: Readonly<Record<string, (world: World, step: Step) => World | undefined>> = {
  "the list changes": (world) => ({
    ...world,
    isCurrent: false,
    request: world.request === "current" ? "old" : world.request,
    shared: world.shared === "current" ? "old" : world.shared,
    reports: isReporting(world) ? (Math.min(2, world.reports + 1) as 1 | 2) : 0,
    isUnnoticed: true,
  }),
  "a change is reported once more": (world) => (world.reports === 1 ? { ...world, reports: 2 } : undefined),
  "a report arrives": (world, step) =>
    world.stream !== "open" || world.reports === 0
      ? undefined
      : {
          ...because(world),
          state: step(world.state, { type: "changeReported" }),
          reports: (world.reports - 1) as 0 | 1,
          // Shared lists from before the report are not offered any more.
          shared: "none",
          mayShare: false,
          isUnnoticed: false,
        },
  "the client asks for reports": (world) =>
    world.stream === "no" ? { ...world, stream: "sent" } : undefined,
  "the server accepts": (world) => (world.stream === "sent" ? { ...world, stream: "accepted" } : undefined),
  "the acknowledgement arrives"(world, step) {
    if (world.stream !== "accepted") return undefined;
    const state = step(world.state, { type: "listeningBegun" });
    const isAllowed = world.isAdopted && !world.wasInterrupted;
    const isReason = world.request !== "no" || !isAllowed;
    return { ...(isReason ? because(world) : world), state, stream: "open" };
  },
  "the stream ends": (world, step) =>
    world.stream === "no" || world.stream === "sent"
      ? undefined
      : { ...withoutStream(world), state: step(world.state, { type: "listeningEnded" }) },
  "the connection is lost": (world, step) => ({
    ...withoutStream(world),
    state: step(world.state, { type: "disconnected" }),
    request: "no",
    hasReason: world.hasReason || world.request !== "no",
    mustRead: world.mustRead || (world.request !== "no" && !isFresh(world.state)),
  }),
  "a read begins"(world, step) {
    if (!isDue(world.state)) return undefined;
    rule(!world.isClosed, RULES.closed);
    rule(world.request === "no", RULES.one);
    rule(world.hasReason, RULES.reason);
    return {
      ...world,
      state: step(world.state, { type: "readBegun" }),
      request: "sent",
      mayShare: true,
      hasReason: false,
      mustRead: false,
    };
  },
  "the server makes its list": (world) =>
    world.request === "sent" ? { ...world, request: "current" } : undefined,
  "the list arrives"(world, step) {
    if (world.request !== "current" && world.request !== "old") return undefined;
    const state = step(world.state, { type: "readAnswered" });
    return {
      ...world,
      state,
      request: "no",
      isCurrent: world.request === "current",
      isAdopted: false,
      // Every user reads public lists for all others.
      shared: world.mayShare ? world.request : world.shared,
      failures: 0,
    };
  },
  "the read fails"(world, step) {
    if (world.request === "no") return undefined;
    rule(world.failures <= MAX_REPEATED_READS, RULES.failing);
    const state = step(world.state, { type: "readFailed" });
    const mustRead = world.failures < MAX_REPEATED_READS;
    return { ...world, state, request: "no", hasReason: true, mustRead, failures: world.failures + 1 };
  },
  "its time has passed": (world, step) =>
    isKnown(world) && world.request === "no"
      ? { ...because(world), state: step(world.state, { type: "expired" }) }
      : undefined,
  "a change may have been missed": (world, step) =>
    isKnown(world) || world.request !== "no"
      ? { ...because(world), state: step(world.state, { type: "changeMissed" }) }
      : undefined,
  "a caller needs it": (world, step) =>
    isFresh(world.state)
      ? undefined
      : { ...world, state: step(world.state, { type: "needed" }), hasReason: true, failures: 0 },
  "another user reads it": (world, step) => anotherReads(world, "current", step),
  "another user gets an old answer": (world, step) =>
    world.isUnnoticed ? anotherReads(world, "old", step) : undefined,
  "another user learns of a change": (world, step) =>
    world.isUnnoticed
      ? { ...sharedReplaced(world, step), shared: "none", mayShare: false, isUnnoticed: false }
      : undefined,
  "a shared list is offered"(world, step) {
    if (world.shared === "none") return undefined;
    const { state } = world;
    const next = step(state, { type: "offered", isLater: world.isSharedLater });
    if (isSame(next, state)) return undefined;
    rule(!isFresh(state), RULES.replaced);
    rule(!state.changed || world.isSharedLater, RULES.adopted);
    return {
      ...world,
      state: next,
      isCurrent: world.shared === "current",
      isAdopted: true,
      wasInterrupted: false,
      hasReason: false,
      mustRead: false,
      failures: 0,
    };
  },
  "the reader is closed": (world, step) => ({
    ...withoutStream(world),
    state: step(world.state, { type: "closed" }),
    request: "no",
    isClosed: true,
  }),
};

const isReporting = ({ stream }: World): boolean => stream === "accepted" || stream === "open";

/** Something has happened after which the list has to be read. */
const because = (world: World): World => ({
  ...world,
  hasReason: true,
  mustRead: true,
  isSharedLater: false,
  failures: 0,
});

const withoutStream = (world: World): World => ({
  ...world,
  stream: "no",
  reports: 0,
  wasInterrupted: true,
});

function anotherReads(world: World, age: "current" | "old", step: Step): World {
  const isDifferent = world.isCurrent !== (age === "current");
  return { ...(isDifferent ? sharedReplaced(world, step) : world), shared: age, isSharedLater: true };
}

/** All readers learn of it; it matters for those that have the shared list. */
const sharedReplaced = (world: World, step: Step): World => ({
  ...(world.isAdopted ? because(world) : world),
  state: step(world.state, { type: "sharedReplaced" }),
});

/** What ends by itself, in this order, when nothing else happens. */
const ENDING = [
  "the server makes its list",
  "the list arrives",
  "the client asks for reports",
  "the server accepts",
  "the acknowledgement arrives",
  "a report arrives",
  "a read begins",
] as const;

/** Lets everything end that is under way. */
function settle(given: World, step: Step): World {
  let world = given;
  for (let turn = 0; turn < 40; turn += 1) {
    const next = firstOf(ENDING, (name) => EVENTS[name]!(world, step));
    if (next === undefined) return world;
    world = next;
  }
  throw new Error("Reading does not end");
}

function firstOf<Item, Result>(
  items: readonly Item[],
  find: (item: Item) => Result | undefined,
): Result | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Checks what must be true when nothing happens any more. */
function checkQuiet(given: World, step: Step): void {
  let world = settle(given, step);
  if (world.isClosed) return;
  // A list that has failed too often waits for the next caller.
  if (world.failures > MAX_REPEATED_READS)
    world = settle(EVENTS["a caller needs it"]!(world, step) ?? world, step);
  rule(isFresh(world.state), RULES.fresh);
  rule(!world.mustRead, RULES.followed);
  const isAllowed = world.isAdopted && world.isUnnoticed && !world.wasInterrupted;
  rule(world.isCurrent || isAllowed, RULES.current);
}

interface Explored {
  readonly states: number;
  readonly violation: Violation | undefined;
}

interface Node {
  readonly world: World;
  readonly event: string;
  readonly before: Node | undefined;
}

interface ExploreOptions {
  /** Maximum number of events. */
  readonly depth: number;
  /** Begins with so many failed reads, while the server reports changes. @default with nothing */
  readonly failures?: number;
}

/** Tries all orders of events. States that were reached before are not tried again. */
export function explore(step: Step, { depth, failures = 0 }: ExploreOptions): Explored {
  const seen = new Set<string>();
  const state: ListState = { ...UNKNOWN_LIST, failures, reported: failures > 0 };
  const world: World = { ...START, state, failures, stream: failures > 0 ? "open" : "no" };
  const first: Node = { world, event: "", before: undefined };
  let front = [first];
  for (let count = 0; count <= depth; count += 1) {
    const next: Node[] = [];
    for (const node of front) {
      const found = tryRule(node, () => checkQuiet(node.world, step));
      if (found !== undefined) return { states: seen.size, violation: found };
      if (count === depth) continue;
      for (const [event, happen] of Object.entries(EVENTS)) {
        let world: World | undefined;
        const reached: Node = { world: node.world, event, before: node };
        const broken = tryRule(reached, () => {
          world = happen(node.world, step);
        });
        if (broken !== undefined) return { states: seen.size, violation: broken };
        if (world === undefined || world === node.world) continue;
        const key = keyOf(world);
        if (seen.has(key)) continue;
        seen.add(key);
        next.push({ world, event, before: node });
      }
    }
    front = next;
  }
  return { states: seen.size, violation: undefined };
}

function tryRule(node: Node, check: () => void): Violation | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (!(error instanceof BrokenRule)) throw error;
    const events: string[] = [];
    for (let each: Node | undefined = node; each?.before !== undefined; each = each.before)
      events.unshift(each.event);
    return { rule: error.message, events };
  }
}

const keyOf = ({ state, ...rest }: World): string => [textOf(state), ...Object.values(rest)].join();

const textOf = (state: ListState): string => Object.values(state).join();

const isSame = (one: ListState, other: ListState): boolean => textOf(one) === textOf(other);
