/** Runs all steps of the demo. */
import type { Model } from "../agent/run-agent.js";
import { createToolport, type FallbackRequest, type Toolport } from "../index.js";
import { readProcessTable } from "../transports/stdio/process-tree.js";
import { letAgentWork } from "./agent-loop.js";
import { callEach, listTools, shapeCatalog } from "./call-tools.js";
import { connectAll, rememberEra, type ServerRow } from "./connect-all.js";
import { dropWebSocket, fallBack, forgetSessions, killProcess, retryAfterRejection } from "./heal.js";
import { logInAndRestart } from "./log-in.js";
import { serveForeignClient } from "./serve-foreign-client.js";
import { type DemoServers, startServers } from "./servers.js";
import { check, type Screen, type StepOutcome, type StepReport, StepRunner } from "./step-runner.js";

/** What `--json` prints. */
export interface DemoReport {
  readonly ok: boolean;
  readonly ms: number;
  readonly servers: readonly ServerRow[];
  readonly steps: readonly StepReport[];
}

interface DemoOptions {
  /** The model of the agent loop. @default a script */
  readonly model?: Model | undefined;
  /** Awaited before everything is closed, while the servers are still running. */
  readonly stayUp?: ((toolport: Toolport) => Promise<void>) | undefined;
}

export async function runDemo(screen: Screen, options: DemoOptions = {}): Promise<DemoReport> {
  const startedAt = performance.now();
  const runner = new StepRunner(screen);
  const rows = await runSteps(runner, screen, options);
  return {
    ok: runner.reports.every(({ ok }) => ok),
    ms: Math.round(performance.now() - startedAt - runner.pausedMs),
    servers: rows,
    steps: runner.reports,
  };
}

async function runSteps(
  runner: StepRunner,
  screen: Screen,
  { model, stayUp }: DemoOptions,
): Promise<ServerRow[]> {
  const servers = await runner.run({
    id: "start",
    title: "Start real MCP servers on this machine",
    run: async () => ({
      value: await startServers(),
      details: [
        "seven listen on 127.0.0.1 (one of them behind OAuth), one is started by its command, two are meant to fail",
      ],
    }),
  });
  if (servers === undefined) return [];
  const asked: FallbackRequest[] = [];
  const toolport = createToolport({
    mcpServers: servers.mcpServers,
    beforeFallback: (request) => void asked.push(request),
  });
  const pids = new Set<number>();
  try {
    const rows = await runner.run({
      id: "connect",
      title: "Connect to all of them at once",
      run: (show) => connectAll(toolport, screen, show),
    });
    await runner.run({ id: "list", title: "List their tools", run: () => listTools(toolport) });
    await runner.run({
      id: "catalog",
      title: "Shape the catalog: filter tools, resolve a name collision, list again",
      run: () => shapeCatalog(servers.weather),
    });
    await runner.run({ id: "call", title: "Call one tool on each", run: () => callEach(toolport) });
    await runner.run({
      id: "agent",
      title: `Let ${model === undefined ? "a scripted model" : model.name} find and call tools through search`,
      run: (show) => letAgentWork(servers, model, show),
    });
    await runner.run({
      id: "retry",
      title: "Reject a call with HTTP 503, once",
      run: () => retryAfterRejection(toolport, servers.weather),
    });
    await runner.run({
      id: "fallback",
      title: "Stop a server and let its fallback respond",
      run: () => fallBack(toolport, servers.weather, asked),
    });
    await runner.run({
      id: "kill",
      title: "Kill the stdio server with -9 and call again",
      run: () => killProcess(toolport, pids),
    });
    await runner.run({
      id: "forget",
      title: "Make the HTTP server forget its sessions and call again",
      run: () => forgetSessions(toolport, servers),
    });
    await runner.run({
      id: "drop",
      title: "Drop the WebSocket connection and call again",
      run: () => dropWebSocket(toolport, servers),
    });
    await runner.run({
      id: "gateway",
      title: "Serve all tools to a foreign client through the gateway, and kill a server meanwhile",
      run: () => serveForeignClient(toolport, pids),
    });
    await runner.run({
      id: "remember",
      title: "Connect a second port with the same store, without a probe",
      run: () => rememberEra(servers),
    });
    await runner.run({
      id: "login",
      title: "Log in to a server behind OAuth, expire the token, restart from the saved state",
      run: () => logInAndRestart(servers.vault),
    });
    await runner.pause(() => stayUp?.(toolport));
    return rows ?? [];
  } finally {
    await runner.run({
      id: "close",
      title: "Close and check that nothing is left",
      run: () => closeEverything({ toolport, servers, pids }),
    });
  }
}

interface Parts {
  readonly toolport: Toolport;
  readonly servers: DemoServers;
  /** Processes that responded. An orphaned one would no longer be a child process. */
  readonly pids: ReadonlySet<number>;
}

const SOCKETS = new Set(["TCPSocketWrap", "TCPServerWrap", "ProcessWrap"]);
const TIMEOUT_MS = 2_000;
const POLL_MS = 20;

async function closeEverything({ toolport, servers, pids }: Parts): Promise<StepOutcome<never>> {
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
