/** Runs all steps of the demo. */
import type { Model } from "../agent/run-agent.js";
import { createToolport, type FallbackRequest, type Toolport } from "../../index.js";
import { readProcessTable } from "../../transports/stdio/process-tree.js";
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
  const servers = await runner.run("start", "Start real MCP servers on this machine", async () => ({
    value: await startServers(),
    details: [
      "seven listen on 127.0.0.1 (one of them behind OAuth), one is started by its command, two are meant to fail",
    ],
  }));
  if (servers === undefined) return [];
  const asked: FallbackRequest[] = [];
  const toolport = createToolport({
    mcpServers: servers.mcpServers,
    beforeFallback: (request) => void asked.push(request),
  });
  const pids = new Set<number>();
  try {
    const rows = await runner.run("connect", "Connect to all of them at once", (show) =>
      connectAll(toolport, screen, show),
    );
    await runner.run("list", "List their tools", () => listTools(toolport));
    await runner.run("catalog", "Shape the catalog: filter tools, resolve a name collision, list again", () =>
      shapeCatalog(servers.weather),
    );
    await runner.run("call", "Call one tool on each", () => callEach(toolport));
    await runner.run(
      "agent",
      `Let ${model === undefined ? "a scripted model" : model.name} find and call tools through search`,
      (show) => letAgentWork(servers, model, show),
    );
    await runner.run("retry", "Reject a call with HTTP 503, once", () =>
      retryAfterRejection(toolport, servers.weather),
    );
    await runner.run("fallback", "Stop a server and let its fallback respond", () =>
      fallBack(toolport, servers.weather, asked),
    );
    await runner.run("kill", "Kill the stdio server with -9 and call again", () =>
      killProcess(toolport, pids),
    );
    await runner.run("forget", "Make the HTTP server forget its sessions and call again", () =>
      forgetSessions(toolport, servers),
    );
    await runner.run("drop", "Drop the WebSocket connection and call again", () =>
      dropWebSocket(toolport, servers),
    );
    await runner.run(
      "gateway",
      "Serve all tools to a foreign client through the gateway, and kill a server meanwhile",
      () => serveForeignClient(toolport, pids),
    );
    await runner.run("remember", "Connect a second port with the same store, without a probe", () =>
      rememberEra(servers),
    );
    await runner.run(
      "login",
      "Log in to a server behind OAuth, expire the token, restart from the saved state",
      () => logInAndRestart(servers.vault),
    );
    await runner.pause(() => stayUp?.(toolport));
    return rows ?? [];
  } finally {
    await runner.run("close", "Close and check that nothing is left", () =>
      closeEverything(toolport, servers, pids),
    );
  }
}

const SOCKETS = new Set(["TCPSocketWrap", "TCPServerWrap", "ProcessWrap"]);
const TIMEOUT_MS = 2_000;
const POLL_MS = 20;

/** @param pids processes that responded; an orphaned one would no longer be a child process */
async function closeEverything(
  toolport: Toolport,
  servers: DemoServers,
  pids: ReadonlySet<number>,
): Promise<StepOutcome> {
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
