/** Brings servers up to see whether they work. */
import { exitCodeOf } from "./exit-codes.js";
import type { Shell } from "./shell.js";

/** How one server came up, as `--json` shows it. */
export interface ServerCheck {
  readonly name: string;
  readonly state: string;
  readonly tools: number;
  readonly ms: number;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  /** What its failure means for the exit code. */
  readonly exitCode: number;
}

export async function checkServers(names: readonly string[], shell: Shell): Promise<ServerCheck[]> {
  const progress = shell.progress(`Connecting to ${names.join(", ")}`);
  try {
    const { toolport } = await shell.openPort({ servers: names });
    const { servers } = await toolport.connect({
      servers: names,
      signal: shell.signal,
      ...(shell.timeoutMs !== undefined && { timeoutMs: shell.timeoutMs }),
    });
    return Object.entries(servers).map(([name, { state, toolCount, ms, error }]) => ({
      name,
      state,
      tools: toolCount,
      ms: Math.round(ms),
      ...(error && { error: { code: error.code, message: error.message } }),
      exitCode: error === undefined ? 0 : exitCodeOf(error),
    }));
  } finally {
    progress.done();
  }
}
