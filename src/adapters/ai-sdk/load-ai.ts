/** Loads the package `ai`, an optional peer dependency. */
import { ConfigError } from "../../errors/toolport-error.js";

/**
 * Inside `try`, because esbuild (and so wrangler) does not bundle an import that it cannot resolve unless the failure is handled.
 *
 * @throws ConfigError if the package is not installed
 */
export async function loadAi(): Promise<typeof import("ai")> {
  try {
    return await import("ai");
  } catch (cause) {
    throw new ConfigError({
      code: "INVALID_CONFIG",
      what: "The package `ai`, which the tools require, cannot be loaded",
      next: "Install it: npm install ai",
      cause,
    });
  }
}
