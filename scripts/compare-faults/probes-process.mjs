/** Faults of server processes and of the process that hosts them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { nextCall } from "./next-call.mjs";
import { describe, seconds } from "./stage.mjs";

const HOST = fileURLToPath(new URL("./host.mjs", import.meta.url));
const CONNECT_LIMIT_MS = 2_000;

/** Kills the server in the middle of a call; returns the result of the call and its handle. */
async function killMidCall(stage) {
  await stage.controlWith(stage.stdio());
  const handle = await stage.open(stage.stdio(), { recover: true });
  const pid = Number(await handle.call("it", "pid", {}));
  const call = stage.settled(handle.call("it", "slow", { ms: 60_000 }));
  await stage.sleep(200);
  process.kill(pid, "SIGKILL");
  const { isLate, error, ms } = await call;
  return { handle, isLate, error, ms: ms - 200 };
}

export async function killedMidCall(stage) {
  const { isLate, error, ms } = await killMidCall(stage);
  if (isLate) return { survived: false, fact: `call pending > ${seconds(stage.capMs)}` };
  return { survived: error !== undefined && ms < 1_000, fact: `${describe(error)} after ${seconds(ms)}` };
}

export async function callAfterKill(stage) {
  const { handle } = await killMidCall(stage);
  await stage.sleep(1_500);
  return nextCall(stage, handle);
}

/** Kills a process with the contender; its server ignores the end of its input. */
export async function hostKilled(stage) {
  const server = stage.stdio("--ignore-eof");
  await stage.controlWith(stage.stdio());
  const known = new Set(stage.pids());
  const args = [HOST, stage.contender.file, JSON.stringify([server])];
  const host = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  await stage.control(() => once(host.stdout, "data"));
  host.kill("SIGKILL");
  await once(host, "exit");
  await stage.sleep(3_000);
  const left = stage.alive().filter((pid) => !known.has(pid));
  return { survived: left.length === 0, fact: `${left.length} orphan(s) after 3 s` };
}

async function closeOf(stage, server) {
  await stage.controlWith(stage.stdio());
  const handle = await stage.open(server);
  await handle.call("it", "echo", { text: "x" });
  const { isLate, ms } = await stage.settled(handle.close());
  // close() has finished; give the kernel a moment.
  await stage.sleep(500);
  const left = stage.alive().length;
  const fact = `${isLate ? "close() pending >" : "close() in"} ${seconds(ms)}, ${left} process(es) left`;
  return { survived: !isLate && left === 0, fact };
}

export const stubbornClose = (stage) => closeOf(stage, stage.stdio("--ignore-eof", "--ignore-signals"));
export const wrapperClose = (stage) => closeOf(stage, stage.wrapped("--ignore-eof"));

export async function silentStart(stage) {
  await stage.controlWith(stage.stdio());
  const options = { connectTimeoutMs: CONNECT_LIMIT_MS };
  const { isLate, error, ms } = await stage.settled(stage.open(stage.stdio("--silent"), options));
  await stage.sleep(500);
  const left = isLate ? "" : `, ${stage.alive().length} process(es) left`;
  const waited = isLate
    ? `pending > ${seconds(stage.capMs)}`
    : `${describe(error)} after ${seconds(ms)}${left}`;
  const survived = !isLate && error !== undefined && stage.alive().length === 0;
  return { survived, fact: `${waited}; default limit: ${stage.contender.defaultConnectLimit}` };
}

export async function floodedStderr(stage) {
  const options = { stderr: "pipe" };
  await stage.controlWith(stage.stdio(), options);
  const server = stage.stdio(`--stderr-bytes=${5 * 1024 * 1024}`);
  const { isLate, error, ms } = await stage.settled(stage.open(server, options));
  if (isLate) return { survived: false, fact: `start pending > ${seconds(stage.capMs)}` };
  return { survived: error === undefined, fact: error ? describe(error) : `started in ${seconds(ms)}` };
}

const EXIT_CODE = 37;
const LAST_WORDS = "the key is missing";

export async function earlyExit(stage) {
  await stage.controlWith(stage.stdio());
  const server = stage.stdio(`--stderr=${LAST_WORDS}`, `--exit=${EXIT_CODE}`);
  const { isLate, error, ms } = await stage.settled(stage.open(server));
  if (isLate) return { survived: false, fact: `pending > ${seconds(stage.capMs)}` };
  const errorText = collectErrorText(error);
  const knows = [
    errorText.includes(String(EXIT_CODE)) && "exit code",
    errorText.includes(LAST_WORDS) && "stderr",
  ].filter(Boolean);
  const fact =
    knows.length > 0
      ? `error holds ${knows.join(" and ")}, ${seconds(ms)}`
      : error === undefined
        ? "no error"
        : `error: ${describe(error)}`;
  return { survived: knows.length > 0, fact };
}

/** Text of an error and its causes, without the stack, which contains the path of this file's flags. */
function collectErrorText(error) {
  let text = "";
  for (let at = error; at !== undefined && at !== null; at = at.cause) {
    const { stack, ...own } = Object.fromEntries(
      Object.getOwnPropertyNames(at).map((name) => [name, at[name]]),
    );
    text += JSON.stringify(own, (key, value) => (key === "cause" ? undefined : value));
  }
  return text;
}

export async function fiveAtOnce(stage) {
  await stage.controlWith(stage.stdio());
  const before = stage.pids().length;
  const { contender, lib } = stage;
  const crowd = await stage.settled(contender.openCrowd(lib, [stage.stdio()], 5));
  if (crowd.isLate || crowd.error) return { survived: false, fact: describe(crowd.error ?? "pending") };
  const started = stage.pids().length - before;
  await crowd.value.close();
  await stage.sleep(500);
  const left = stage.alive().length;
  return {
    survived: started === 1 && left === 0,
    fact: `${started} process(es), ${left} left after close()`,
  };
}
