/** Connects all servers at once and reports the outcome of each. */
import { ConnectionError } from "../../errors/connection-error.js";
import type { ToolportError } from "../../errors/toolport-error.js";
import type { ServerReport } from "../../port/report.js";
import type { CommandContext, OpenedPort } from "../command-context.js";
import { EXIT, exitCodeOf } from "../exit-codes.js";
import { shellWord } from "../next-command.js";
import { plural } from "../plain-text.js";
import { checkCatalog } from "./check-catalog.js";
import { checkContext } from "./check-context.js";
import type { Finding } from "./finding.js";

const STDERR_LINES = 6;
const TIMEOUT_MS = 20_000;

export async function checkConnections(
  { toolport }: OpenedPort,
  servers: readonly string[],
  context: CommandContext,
): Promise<Finding[]> {
  const noise: Finding[] = [];
  const stop = toolport.on("warning", ({ server, message, code }) => {
    if (code === "BAD_RESPONSE" && server !== undefined)
      noise.push({ check: "connect", server, status: "warn", message });
  });
  const report = await toolport.connect({
    servers,
    signal: context.signal,
    timeoutMs: context.timeoutMs ?? TIMEOUT_MS,
  });
  stop();
  const snapshot = toolport.snapshot();
  const found = Object.entries(report.servers).map(([server, outcome]) => {
    const { protocolVersion, transport } = snapshot.servers[server]!;
    return connectionFinding(server, outcome, `${transport}, ${protocolVersion ?? "unknown revision"}`);
  });
  const ready = servers.filter((server) => report.servers[server]?.state === "ready");
  const costs = await toolport.cost({ servers: ready, signal: context.signal });
  const cost = ready.length === 0 ? [] : [checkContext(costs)];
  return [...found, ...noise, ...checkCatalog(snapshot, ready), ...cost];
}

function connectionFinding(
  server: string,
  { state, error, toolCount, ms, authUrl }: ServerReport,
  how: string,
): Finding {
  const base = { check: "connect", server };
  if (error === undefined && state === "ready")
    return {
      ...base,
      status: "ok",
      message: `Ready in ${Math.round(ms)} ms (${how}), ${plural(toolCount, "tool")}`,
    };
  if (state === "authenticating" || authUrl !== undefined || exitCodeOf(error) === EXIT.authorization) {
    return {
      ...{ ...base, status: "fail", exitCode: EXIT.authorization },
      message: error?.what ?? "The server requires a login",
      next: `toolport auth ${shellWord(server)}`,
    };
  }
  return {
    ...{ ...base, status: "fail", exitCode: error === undefined ? EXIT.unreachable : exitCodeOf(error) },
    message: error === undefined ? `It is ${state}` : failureText(error),
    next: error?.next ?? `toolport inspect ${shellWord(server)}`,
  };
}

function failureText(error: ToolportError): string {
  if (!(error instanceof ConnectionError) || !error.stderrTail) return error.what;
  const written = error.stderrTail.trimEnd().split("\n");
  // Most messages already quote the relevant lines.
  if (written.some((line) => line.trim().length > 3 && error.what.includes(line.trim()))) return error.what;
  const lines = written.slice(-STDERR_LINES);
  return [`${error.what}. Its stderr:`, ...lines.map((line) => `  ${line}`)].join("\n");
}
