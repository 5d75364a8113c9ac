/** The error for an invalid configuration, in the format that programs for `@langchain/mcp-adapters` expect. */
import type { ConfigError } from "../../errors/config-error.js";

/** One problem of a configuration. */
export interface ZodIssue {
  readonly code: "custom";
  /** Where it is, key by key: `["mcpServers", "weather", "url"]`. */
  readonly path: (string | number)[];
  /** What is wrong and what is expected. Never contains a secret value. */
  readonly message: string;
}

/** An error named `ZodError` with `issues`, as documented; zod itself is not used. */
export class ConfigZodError extends Error {
  override readonly name = "ZodError";
  readonly issues: readonly ZodIssue[];

  constructor(issues: readonly ZodIssue[], options?: { cause?: unknown }) {
    super(issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("\n"), options);
    this.issues = issues;
  }
}

/** The same problems, with the paths of the user's configuration: a plain map of servers has no `mcpServers`. */
export function toZodError(error: ConfigError, isBareMap: boolean): ConfigZodError {
  const issues = error.issues.map(({ path, message }): ZodIssue => {
    const keys = splitPath(path);
    // Problems without a server come from the option `toolport`.
    const own = keys[0] === "options" ? ["toolport", ...keys.slice(1)] : isBareMap ? keys.slice(1) : keys;
    return { code: "custom", path: own, message };
  });
  const shown: ZodIssue[] = issues.length > 0 ? issues : [{ code: "custom", path: [], message: error.what }];
  return new ConfigZodError(shown, { cause: error });
}

/** Parses a path of `formatPath`: `mcpServers["my server"].args[1]`. */
function splitPath(path: string): (string | number)[] {
  const keys: (string | number)[] = [];
  for (const [, plain, index, quoted] of path.matchAll(/([^.[\]]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/g)) {
    if (index !== undefined) keys.push(Number(index));
    else keys.push(quoted === undefined ? plain! : (JSON.parse(quoted) as string));
  }
  return keys;
}
