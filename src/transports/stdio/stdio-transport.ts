/** Creates the transport for a local process that speaks MCP on its standard input and output. */
import { secretsOf } from "../../config/known-secrets.js";
import type { StdioConfig } from "../../config/server-config.js";
import type { ServerTransport, TransportContext } from "../server-transport.js";
import { ProcessTransport } from "./process-transport.js";
import { DEFAULT_STOP_TIMEOUTS, type StopTimeouts } from "./server-process.js";
import { mergeEnvironment, safeEnvironment, serveChain } from "./spawn-environment.js";

export interface StdioTransportOptions {
  /** Timeouts for the steps of a stop. @default 1.5 s for end of input, 1.5 s for SIGTERM */
  readonly stopTimeouts?: StopTimeouts | undefined;
}

/**
 * Starts `config.command` without a shell, and ends it together with its descendants.
 *
 * The process runs in its own process group, so a Ctrl-C in the terminal does not reach it. If this process dies, the
 * guardian ends it.
 */
export function createStdioTransport(
  config: StdioConfig,
  context: Pick<TransportContext, "maxMessageBytes" | "onStderr">,
  options: StdioTransportOptions = {},
): ServerTransport {
  const { name, command, args, cwd, stderr, encoding } = config;
  const own = config.env.reveal();
  return new ProcessTransport({
    kind: "stdio",
    server: name,
    command,
    encoding,
    maxMessageBytes: context.maxMessageBytes,
    stopTimeouts: options.stopTimeouts ?? DEFAULT_STOP_TIMEOUTS,
    redact: secretsOf(config).foreign,
    onStderr: context.onStderr,
    launchOptions: () => {
      const defaults = safeEnvironment();
      const inherited = config.inheritEnv ? process.env : undefined;
      const env = mergeEnvironment({
        defaults,
        inherited,
        platform: process.platform,
        own: { ...own, ...serveChain() },
      });
      return { command, args, env, cwd, stderr };
    },
  });
}
