/** Runtimes without worker threads. Chosen by the package's `#code-executor` conditions. */
import { ConfigError } from "@toolport/base";

export async function createExecutor(): Promise<never> {
  throw new ConfigError({
    code: "INVALID_CONFIG",
    what: "This runtime has no worker threads, and programs never run on the thread of the host",
    next: "Give createCodeMode an `executor` of your own; see docs/code-mode.md",
  });
}
