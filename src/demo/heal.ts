/** Breaks a connection on purpose, then calls again with the same port. */
import type { Toolport } from "../index.js";
import { CALL_LIMIT, CALLS, callOnce } from "./call-tools.js";
import type { DemoServers } from "./servers.js";
import { check, type StepOutcome } from "./step-runner.js";
import { whenLost } from "./wait-for-change.js";

/** Kills the process of the stdio server. Adds every process id to `pids`, for the check at the end. */
export async function killProcess(toolport: Toolport, pids: Set<number>): Promise<StepOutcome<never>> {
  const processId = async () => {
    const pid = Number((await toolport.callTool("notes__process_id", {}, CALL_LIMIT)).text);
    pids.add(pid);
    return pid;
  };
  const first = await processId();
  const moves = watch(toolport, "notes");
  const lost = whenLost(toolport, "notes");
  process.kill(first, "SIGKILL");
  await lost;
  const { ms } = await callOnce(toolport, CALLS.notes);
  const second = await processId();
  check(second !== first, "the same process responded");
  return {
    details: [
      `process ${first} was killed, process ${second} responded after ${ms} ms`,
      `states: ${moves()}`,
    ],
  };
}

/** Makes the HTTP server forget its sessions, as after a restart. */
export async function forgetSessions(
  toolport: Toolport,
  { calendar }: DemoServers,
): Promise<StepOutcome<never>> {
  const [before] = calendar.sessionIds;
  const moves = watch(toolport, "calendar");
  await calendar.forgetSessions();
  const { text, ms } = await callOnce(toolport, CALLS.calendar);
  const [after] = calendar.sessionIds;
  check(before !== undefined && after !== undefined && after !== before, "there is no new session");
  return {
    details: [
      `session ${brief(before)} was forgotten, session ${brief(after)} responded "${text}" after ${ms} ms`,
      `states: ${moves()}`,
    ],
  };
}

/** Drops the WebSocket connection. */
export async function dropWebSocket(toolport: Toolport, { relay }: DemoServers): Promise<StepOutcome<never>> {
  const moves = watch(toolport, "relay");
  const lost = whenLost(toolport, "relay");
  relay.dropConnections();
  await lost;
  const { text, ms } = await callOnce(toolport, CALLS.relay);
  return { details: [`a new connection responded "${text}" after ${ms} ms`, `states: ${moves()}`] };
}

const brief = (id: string): string => `${id.slice(0, 8)}…`;

/** Records the states of a server until the returned function is called. */
function watch(toolport: Toolport, server: string): () => string {
  const states: string[] = [toolport.snapshot().servers[server]?.state ?? "unknown"];
  const off = toolport.on("state", (change) => {
    if (change.server === server) states.push(change.to);
  });
  return () => {
    off();
    return states.join(" → ");
  };
}
