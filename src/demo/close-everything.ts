/** Closes everything and checks that no process or socket is left. */
import type { Toolport } from "../index.js";
import { readProcessTable } from "../transports/stdio/process-tree.js";
import type { DemoServers } from "./servers.js";
import { check, type StepOutcome } from "./step-runner.js";

interface Parts {
  readonly toolport: Toolport;
  readonly servers: DemoServers;
  /** Processes that responded. An orphaned one would no longer be a child process. */
  readonly pids: ReadonlySet<number>;
}

const SOCKETS = new Set(["TCPSocketWrap", "TCPServerWrap", "ProcessWrap"]);
const TIMEOUT_MS = 2_000;
const POLL_MS = 20;

export async function closeEverything({ toolport, servers, pids }: Parts): Promise<StepOutcome<never>> {
  const startedAt = performance.now();
  await toolport.close();
  const closedMs = Math.round(performance.now() - startedAt);
  await servers.close();
  const deadline = performance.now() + TIMEOUT_MS;
  let left = await findLeft(pids);
  // Closed sockets need some turns of the event loop to disappear.
  while (left.processes + left.sockets > 0 && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    left = await findLeft(pids);
  }
  const { processes, sockets } = left;
  check(processes === 0 && sockets === 0, `${processes} processes and ${sockets} sockets are left`);
  return { details: [`closed in ${closedMs} ms: no process and no socket is left`] };
}

async function findLeft(pids: ReadonlySet<number>): Promise<{ processes: number; sockets: number }> {
  const table = await readProcessTable();
  return {
    processes: table.filter(({ pid, parent }) => parent === process.pid || pids.has(pid)).length,
    sockets: process.getActiveResourcesInfo().filter((name) => SOCKETS.has(name)).length,
  };
}
