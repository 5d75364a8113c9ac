/** Lists the resources of a process (children, sockets, timers, listeners), so that a test can detect leaks. */

import { readdirSync, readlinkSync } from "node:fs";
import { afterEach, beforeEach } from "vitest";
import { processTree } from "./processes.js";
import { waitFor } from "./wait-for.js";

export { waitFor } from "./wait-for.js";

/** Environment or command-line mark of a process that outlives single connections on purpose (the guardian). */
export const GUARDIAN_MARK = "toolport-guardian";

/** Resources of this process at one moment. */
export interface LeakSnapshot {
  /** Command lines of live descendants, by pid, without the guardian. */
  readonly children: ReadonlyMap<number, string>;
  /** `process.getActiveResourcesInfo()` counted by kind: `Timeout`, `TCPSocketWrap`, `PipeWrap` … */
  readonly resources: Readonly<Record<string, number>>;
  /** Socket descriptors open in this process. */
  readonly sockets: number;
  /** Listeners on `process`, counted by event. */
  readonly listeners: Readonly<Record<string, number>>;
}

/** Number of live descendant processes, without the guardian. */
export function countChildren(): number {
  return childrenOf(process.pid).size;
}

/** Active resources of the event loop, counted by kind. */
export function activeResources(): Record<string, number> {
  return countBy(process.getActiveResourcesInfo());
}

/** Number of socket descriptors this process has open (TCP, Unix and WebSocket alike); 0 where /proc is missing. */
export function openSockets(): number {
  let descriptors: string[];
  try {
    descriptors = readdirSync("/proc/self/fd");
  } catch {
    return 0;
  }
  return descriptors.filter((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`).startsWith("socket:");
    } catch {
      return false; // the descriptor of the directory listing itself
    }
  }).length;
}

/** Listeners of an emitter, counted by event. */
export function listenersOf(emitter: Pick<NodeJS.EventEmitter, "eventNames" | "listenerCount">) {
  const counts: Record<string, number> = {};
  for (const name of emitter.eventNames()) counts[String(name)] = emitter.listenerCount(name);
  return counts;
}

/** Lists the current resources. */
export function takeLeakSnapshot(): LeakSnapshot {
  return {
    children: childrenOf(process.pid),
    resources: activeResources(),
    sockets: openSockets(),
    listeners: listenersOf(process),
  };
}

/**
 * Throws one error that lists all resources of `after` that are not in `before`. Some resources are released a tick late (a
 * socket after its FIN, a process after its exit): use {@link waitForNoLeaks} for those.
 */
export function expectNoLeaks(before: LeakSnapshot, after: LeakSnapshot = takeLeakSnapshot()): void {
  const leaks = [
    ...[...after.children]
      .filter(([pid]) => !before.children.has(pid))
      .map(([pid, command]) => `process ${pid}: ${command}`),
    ...grown("resource", before.resources, after.resources),
    ...grown("listener on process", before.listeners, after.listeners),
    ...grown("descriptor", { socket: before.sockets }, { socket: after.sockets }),
  ];
  if (leaks.length > 0) throw new Error(`Left behind:\n  ${leaks.join("\n  ")}`);
}

/** Polls until there are no leaks; after `timeoutMs` it rejects with a list of them. */
export async function waitForNoLeaks(before: LeakSnapshot, { timeoutMs = 20_000 } = {}): Promise<void> {
  try {
    await waitFor(
      () => {
        expectNoLeaks(before);
        return true;
      },
      { timeoutMs, label: "all resources to be released" },
    );
  } catch {
    expectNoLeaks(before);
  }
}

function childrenOf(pid: number): Map<number, string> {
  return new Map(
    processTree(pid)
      .filter(({ command }) => !command.includes(GUARDIAN_MARK))
      .map((found) => [found.pid, found.command]),
  );
}

function grown(
  what: string,
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
) {
  return Object.entries(after)
    .filter(([kind, count]) => count > (before[kind] ?? 0))
    .map(([kind, count]) => `${what} ${kind}: ${before[kind] ?? 0} before, ${count} after`);
}

function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** Fails every test that leaks. The returned function runs the same check during a test. */
export function checkLeaksAfterEach(): () => Promise<void> {
  let before: LeakSnapshot;
  beforeEach(() => {
    before = takeLeakSnapshot();
  });
  afterEach(() => waitForNoLeaks(before));
  return () => waitForNoLeaks(before);
}
