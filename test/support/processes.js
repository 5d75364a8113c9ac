/** Looks at processes through /proc: who is alive, who descends from whom, and waiting for one to be gone. */
import { readdirSync, readFileSync } from "node:fs";
import { waitFor } from "./wait-for.js";
/** True while `pid` exists and is not merely a zombie that waits for its parent. */
export function isAlive(pid) {
    const found = readProcess(pid);
    if (found)
        return found.state !== "Z" && found.state !== "X";
    if (process.platform === "linux")
        return false;
    try {
        process.kill(pid, 0);
        return true;
    }
    catch (error) {
        return error.code === "EPERM";
    }
}
/** Resolves when `pid` is gone; rejects, naming the process, when it is still there after `timeoutMs`. */
export async function waitForExit(pid, timeoutMs = 5_000) {
    const label = () => `process ${pid} (${readProcess(pid)?.command || "no command line"}) to exit`;
    await waitFor(() => !isAlive(pid), { timeoutMs, intervalMs: 10, label });
}
/** All live descendants of `pid`, parents before children; `pid` itself is not among them. Linux only. */
export function processTree(pid) {
    const byParent = new Map();
    for (const found of allProcesses()) {
        const siblings = byParent.get(found.parentPid);
        if (siblings)
            siblings.push(found);
        else
            byParent.set(found.parentPid, [found]);
    }
    const tree = [];
    const queue = [pid];
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        for (const child of byParent.get(next) ?? []) {
            queue.push(child.pid);
            if (child.state !== "Z")
                tree.push(child);
        }
    }
    return tree;
}
/**
 * Live processes whose command line contains `text`, wherever they hang in the tree: finds children that were handed
 * to init after their parent was killed. Give each test a text of its own, for instance a random argument.
 */
export function findProcesses(text) {
    return allProcesses().filter((found) => found.pid !== process.pid && found.state !== "Z" && found.command.includes(text));
}
/** What the kernel says about `pid`, or nothing when it does not exist. Linux only. */
function readProcess(pid) {
    try {
        const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
        // The second field is the name in parentheses and may itself hold blanks and parentheses.
        const rest = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").join(" ").trim();
        const [state = "?", parentPid = "0", processGroup = "0"] = rest;
        return { pid, parentPid: Number(parentPid), processGroup: Number(processGroup), state, command };
    }
    catch {
        return undefined; // gone between two reads, or no /proc here
    }
}
function allProcesses() {
    let entries;
    try {
        entries = readdirSync("/proc");
    }
    catch {
        return [];
    }
    return entries
        .filter((entry) => /^\d+$/.test(entry))
        .map((entry) => readProcess(Number(entry)))
        .filter((found) => found !== undefined);
}
