/** Runs one probe in its own process and ends the servers that it leaves behind. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isAlive } from "./stage.mjs";

const WORKER = fileURLToPath(new URL("./worker.mjs", import.meta.url));
/** Extra time: the control run, the start of the servers, and an event loop that is blocked for a while. */
const GRACE_MS = 20_000;

/** `{ survived, fact }`, or `{ error }` if the probe itself failed. */
export async function runProbe(contender, fault, capMs) {
  const folder = mkdtempSync(join(tmpdir(), "compare-faults-"));
  const pidFile = join(folder, "pids");
  try {
    const output = await runWorker([contender, fault.id, pidFile, String(capMs)], capMs + GRACE_MS);
    const line = output.split("\n").findLast((text) => text.startsWith("RESULT "));
    if (line !== undefined) return JSON.parse(line.slice("RESULT ".length));
    const what = fault.whenCut ?? "no end";
    return { survived: false, fact: `${what} > ${capMs / 1000} s` };
  } finally {
    endProcesses(pidFile);
    rmSync(folder, { recursive: true, force: true });
  }
}

function runWorker(args, timeout) {
  return new Promise((resolve, reject) => {
    const { PATH, HOME } = process.env;
    const child = spawn(process.execPath, ["--expose-gc", WORKER, ...args], {
      // Minimal, since some contenders pass their environment to servers.
      env: { PATH, HOME },
      stdio: ["ignore", "pipe", process.env.COMPARE_FAULTS_DEBUG ? "inherit" : "ignore"],
      timeout,
      killSignal: "SIGKILL",
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
    child.once("error", reject);
    // Not "close": an orphan may keep the pipe open.
    child.once("exit", () => setImmediate(() => resolve(output)));
  });
}

/** Servers that a contender has left behind, by the process ids that they wrote. */
function endProcesses(pidFile) {
  let text = "";
  try {
    text = readFileSync(pidFile, "utf8");
  } catch {}
  for (const pid of text.split("\n").filter(Boolean).map(Number)) {
    if (isAlive(pid)) process.kill(pid, "SIGKILL");
  }
}
