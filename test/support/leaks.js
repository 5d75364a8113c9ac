/** Takes stock of what a process holds (children, sockets, timers, listeners) so that a test can prove nothing was left. */
import { readdirSync, readlinkSync } from "node:fs";
import { processTree } from "./processes.js";
import { waitFor } from "./wait-for.js";
export { waitFor } from "./wait-for.js";
/** Environment or command-line mark of a process that outlives single connections on purpose (the guardian). */
export const GUARDIAN_MARK = "toolport-guardian";
/** Number of live descendant processes, the guardian left out. */
export function countChildren() {
    return childrenOf(process.pid).size;
}
/** Active resources of the event loop, counted by kind. */
export function activeResources() {
    return countBy(process.getActiveResourcesInfo());
}
/** Number of socket descriptors this process has open (TCP, Unix and WebSocket alike); 0 where /proc is missing. */
export function openSockets() {
    let descriptors;
    try {
        descriptors = readdirSync("/proc/self/fd");
    }
    catch {
        return 0;
    }
    return descriptors.filter((descriptor) => {
        try {
            return readlinkSync(`/proc/self/fd/${descriptor}`).startsWith("socket:");
        }
        catch {
            return false; // the descriptor of the directory listing itself
        }
    }).length;
}
/** Listeners of an emitter, counted by event. */
export function listenersOf(emitter) {
    const counts = {};
    for (const name of emitter.eventNames())
        counts[String(name)] = emitter.listenerCount(name);
    return counts;
}
/** Takes stock now. */
export function takeLeakSnapshot() {
    return {
        children: childrenOf(process.pid),
        resources: activeResources(),
        sockets: openSockets(),
        listeners: listenersOf(process),
    };
}
/**
 * Throws one error that names everything `after` holds beyond `before`. Some things are let go a tick late (a socket after its
 * FIN, a process after its exit): use {@link waitForNoLeaks} where that may be the case.
 */
export function expectNoLeaks(before, after = takeLeakSnapshot()) {
    const leaks = [
        ...[...after.children]
            .filter(([pid]) => !before.children.has(pid))
            .map(([pid, command]) => `process ${pid}: ${command}`),
        ...grown("resource", before.resources, after.resources),
        ...grown("listener on process", before.listeners, after.listeners),
        ...grown("descriptor", { socket: before.sockets }, { socket: after.sockets }),
    ];
    if (leaks.length > 0)
        throw new Error(`Left behind:\n  ${leaks.join("\n  ")}`);
}
/** Polls until nothing is left behind; rejects with the list of what is after `timeoutMs`. */
export async function waitForNoLeaks(before, { timeoutMs = 5_000 } = {}) {
    try {
        await waitFor(() => {
            expectNoLeaks(before);
            return true;
        }, { timeoutMs, label: "everything to be let go" });
    }
    catch {
        expectNoLeaks(before);
    }
}
function childrenOf(pid) {
    return new Map(processTree(pid)
        .filter(({ command }) => !command.includes(GUARDIAN_MARK))
        .map((found) => [found.pid, found.command]));
}
function grown(what, before, after) {
    return Object.entries(after)
        .filter(([kind, count]) => count > (before[kind] ?? 0))
        .map(([kind, count]) => `${what} ${kind}: ${before[kind] ?? 0} before, ${count} after`);
}
function countBy(names) {
    const counts = {};
    for (const name of names)
        counts[name] = (counts[name] ?? 0) + 1;
    return counts;
}
