/** `toolport demo`: starts real servers, runs all steps on them, and prints the results. */
import { once } from "node:events";
import { sleep, ToolportError } from "@toolport/base";
import { createToolport, type FallbackRequest, type Toolport } from "@toolport/core";
import { chooseModel, type Model } from "../agent.js";
import type { RunCommand } from "../command.js";
import { letAgentWork } from "./agent-loop.js";
import {
  callEach,
  connectAll,
  listTools,
  rememberEra,
  type ServerRow,
  shapeCatalog,
} from "./connect-and-call.js";
import {
  dropWebSocket,
  fallBack,
  forgetSessions,
  killProcess,
  retryAfterRejection,
  serveForeignClient,
} from "./failures.js";
import { logInAndRestart } from "./log-in.js";
import { type DemoServers, startServers } from "./servers.js";
import { check, StepRunner } from "./step-runner.js";

/** Resolves with the exit code: 0 if every step passed. Does not reject for a failed step. */
export const startDemo: RunCommand = async (context) => {
  let model: Model | undefined;
  try {
    model = await chooseModel({
      url: context.text("model-url"),
      name: context.text("model"),
      env: context.env,
    });
  } catch (error) {
    if (!ToolportError.isInstance(error)) throw error;
    context.streams.stderr.write(`${error.message}\n`);
    return 2;
  }
  const runner = new StepRunner(context);
  const { paint } = context;
  runner.print([
    paint("bold", "Toolport demo: every transport, both protocol eras, on this machine only"),
    "",
  ]);
  const startedAt = performance.now();
  let pausedMs = 0;
  const isJson = context.form === "json";
  const isKept = !isJson && context.flag("console") && !context.flag("once");
  const servers = await runSteps(runner, model, async (toolport) => {
    const since = performance.now();
    if (isKept) await stayUp(toolport, runner).catch(({ message }) => runner.print([paint("red", message)]));
    pausedMs = performance.now() - since;
  });
  const ms = Math.round(performance.now() - startedAt - pausedMs);
  const ok = runner.reports.every((report) => report.ok);
  if (isJson) context.printJson({ ok, ms, servers, steps: runner.reports });
  runner.print(summarise(runner, ms));
  return ok ? 0 : 1;
};

function summarise({ reports, context: { paint } }: StepRunner, ms: number): string[] {
  const failed = reports.filter(({ ok }) => !ok);
  const seconds = (ms / 1_000).toFixed(1);
  if (failed.length === 0) return [paint("green", `All ${reports.length} steps passed in ${seconds} s.`)];
  return [
    paint("red", `${failed.length} of ${reports.length} steps failed in ${seconds} s:`),
    ...failed.map(({ title, error }) => `  ${title}: ${error}`),
  ];
}

/** Keeps the servers running and shows them in the console, until Enter, Ctrl-C or the end of the input. */
async function stayUp(toolport: Toolport, runner: StepRunner): Promise<void> {
  const { paint, streams, signal } = runner.context;
  const { startConsole } = await import("@toolport/console");
  const page = await startConsole({ toolport, log: (message) => runner.print([message]) });
  try {
    runner.print([
      `${paint("bold", "The servers keep running. Open the console:")} ${page.url}`,
      paint("dim", "Press Enter or Ctrl-C to end the demo."),
      "",
    ]);
    await Promise.race(["data", "end"].map((event) => once(streams.stdin, event, { signal }))).catch(
      () => {},
    );
    streams.stdin.pause();
  } finally {
    await page.close();
  }
}

/**
 * @param model undefined: a script
 * @param stayUp awaited before everything is closed, while the servers are still running
 * @returns the servers, as `--json` prints them
 */
async function runSteps(
  runner: StepRunner,
  model: Model | undefined,
  stayUp: (toolport: Toolport) => Promise<void>,
): Promise<readonly ServerRow[]> {
  let started: DemoServers | undefined;
  await runner.run("start", "Start real MCP servers on this machine", async () => {
    started = await startServers();
    return [
      "seven listen on 127.0.0.1 (one of them behind OAuth), one is started by its command, two are meant to fail",
    ];
  });
  if (started === undefined) return [];
  const servers = started;
  const asked: FallbackRequest[] = [];
  const toolport = createToolport({
    mcpServers: servers.mcpServers,
    beforeFallback: (request) => void asked.push(request),
  });
  const pids = new Set<number>();
  const rows: ServerRow[] = [];
  const modelName = model === undefined ? "a scripted model" : model.name;
  const steps: Parameters<StepRunner["run"]>[] = [
    ["connect", "Connect to all of them at once", () => connectAll(toolport, rows, runner.context)],
    ["list", "List their tools", () => listTools(toolport)],
    [
      "catalog",
      "Shape the catalog: filter tools, resolve a name collision, list again",
      () => shapeCatalog(servers.weather),
    ],
    ["call", "Call one tool on each", () => callEach(toolport)],
    ["agent", `Let ${modelName} find and call tools through search`, () => letAgentWork(servers, model)],
    ["retry", "Reject a call with HTTP 503, once", () => retryAfterRejection(toolport, servers.weather)],
    [
      "fallback",
      "Stop a server and let its fallback respond",
      () => fallBack(toolport, servers.weather, asked),
    ],
    ["kill", "Kill the stdio server with -9 and call again", () => killProcess(toolport, pids)],
    [
      "forget",
      "Make the HTTP server forget its sessions and call again",
      () => forgetSessions(toolport, servers),
    ],
    ["drop", "Drop the WebSocket connection and call again", () => dropWebSocket(toolport, servers)],
    [
      "gateway",
      "Serve all tools to a foreign client through the gateway, and kill a server meanwhile",
      () => serveForeignClient(toolport, pids),
    ],
    ["remember", "Connect a second port with the same store, without a probe", () => rememberEra(servers)],
    [
      "login",
      "Log in to a server behind OAuth, expire the token, restart from the saved state",
      () => logInAndRestart(servers.vault),
    ],
  ];
  try {
    for (const step of steps) await runner.run(...step);
    await stayUp(toolport);
    return rows;
  } finally {
    await runner.run("close", "Close and check that nothing is left", () =>
      closeEverything(toolport, servers, pids),
    );
  }
}

const SOCKETS = ["TCPSocketWrap", "TCPServerWrap"];
const TIMEOUT_MS = 2_000;
const POLL_MS = 20;

/** @param pids processes that responded; an orphaned one would no longer be a child process */
async function closeEverything(
  toolport: Toolport,
  servers: DemoServers,
  pids: ReadonlySet<number>,
): Promise<string[]> {
  const startedAt = performance.now();
  await toolport.close();
  const closedMs = Math.round(performance.now() - startedAt);
  await servers.close();
  const deadline = performance.now() + TIMEOUT_MS;
  let left = findLeft(pids);
  // Closed sockets need some turns of the event loop to disappear.
  while (left.processes + left.sockets > 0 && performance.now() < deadline) {
    await sleep(POLL_MS);
    left = findLeft(pids);
  }
  const { processes, sockets } = left;
  check(processes === 0 && sockets === 0, `${processes} processes and ${sockets} sockets are left`);
  return [`closed in ${closedMs} ms: no process and no socket is left`];
}

function findLeft(pids: ReadonlySet<number>): { processes: number; sockets: number } {
  const resources = process.getActiveResourcesInfo();
  const children = resources.filter((name) => name === "ProcessWrap").length;
  return {
    processes: children + [...pids].filter(isRunning).length,
    sockets: resources.filter((name) => SOCKETS.includes(name)).length,
  };
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
