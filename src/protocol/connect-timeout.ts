/** The error for a connection attempt that timed out. */
import type { ServerConfig } from "../config/server-config.js";
import { ToolCallError } from "../errors/tool-call-error.js";

/** Programs that may download a package before they run it. */
const RUNNER = /(?:^|[\\/])(?<name>npx|pnpx|bunx|uvx|pipx|npm|pnpm|yarn|bun|uv|deno)(?:\.cmd|\.exe)?$/i;

export function connectTimeout(config: ServerConfig, timeoutMs: number, cause?: unknown): ToolCallError {
  return new ToolCallError({
    code: "TIMEOUT",
    server: config.name,
    phase: "connect",
    what: `The server was not connected within ${Math.round(timeoutMs)} ms`,
    next: `Raise connectTimeoutMs (--timeout on the command line)${slowStart(config)}`,
    retryable: true,
    outcome: "unsent",
    cause,
  });
}

/** Why the first start of the server may take longer; appended to the advice of an error. */
export function slowStart(config: ServerConfig): string {
  if (config.kind === "docker") return ": the image may have to be downloaded first";
  const runner = config.kind === "stdio" ? RUNNER.exec(config.command)?.groups?.["name"] : undefined;
  if (runner !== undefined) return `: the first run of ${runner} downloads the package`;
  return ", or check that it is an MCP server";
}
