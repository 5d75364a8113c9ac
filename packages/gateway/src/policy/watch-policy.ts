/** Reads a policy file and follows its changes. A broken change keeps the rules that were in use. */
import { ConfigError, Emitter, type Logger, timerMs, unrefTimer } from "@toolport/base";
import type { Policy } from "./policy.js";
import { type CompiledPolicy, type ReadPolicyOptions, readRules } from "./read-policy.js";

/** Options of `watchPolicy()`. */
export interface WatchPolicyOptions {
  /** Gets a warning for every change that cannot be used. @default console */
  readonly logger?: Pick<Logger, "info" | "warn">;
  /** How often the file is checked for changes. @default 1000 */
  readonly pollMs?: number;
  /**
   * Servers that rules may name although the gateway does not have them, because they are added later. A rule for any other
   * server is an error when the gateway starts, and a warning when the file changes.
   * @default none
   */
  readonly knownServers?: readonly string[] | undefined;
}

/** The policy of a file. */
export interface WatchedPolicy extends Policy {
  /**
   * Reads the file now, changed or not.
   *
   * @returns false if it cannot be used: the rules in use stay, and the logger gets a warning
   */
  reload(): Promise<boolean>;
}

/** Larger files are a mistake. */
const MAX_BYTES = 16 * 2 ** 20;

/**
 * Reads a policy file and follows its changes, also if the file is replaced (editors, mounted configuration maps). A file
 * that becomes unreadable or invalid keeps the rules in use. Only on Node, Bun and Deno.
 *
 * @throws ConfigError if the file cannot be read or is not valid
 * @example
 * ```ts
 * const policy = await watchPolicy("policy.json");
 * const gateway = createGateway(toolport, { policy });
 * ```
 */
export async function watchPolicy(
  file: string,
  { logger = console, pollMs = 1_000, knownServers }: WatchPolicyOptions = {},
): Promise<WatchedPolicy> {
  const changes = new Emitter<{ change: undefined }>(() => ({
    report: (error) => logger.warn("A listener of a policy failed", error),
  }));
  const options = { file, knownServers };
  let version = await versionOf(file);
  let rules = await readFile(options);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isClosed = false;
  let reading: Promise<boolean> = Promise.resolve(true);
  /** The last warning; the same one is not repeated at every check. */
  let warned = "";

  const read = async (isForced: boolean): Promise<boolean> => {
    try {
      const current = await versionOf(file);
      if (!isForced && current === version) return warned === "";
      // Before the content is read: a change during the reading is then noticed later.
      version = current;
      const next = await readFile(options);
      if (isClosed) return true;
      rules = next;
      warned = "";
      logger.info(`The policy ${file} was read again`);
      changes.emit("change", undefined);
      return true;
    } catch (error) {
      const message = `The policy ${file} changed, but it cannot be used; the rules read before stay in use. ${(error as Error).message}`;
      if (!isClosed && (isForced || message !== warned)) logger.warn(message);
      warned = message;
      return false;
    }
  };
  const reload = (isForced: boolean): Promise<boolean> => {
    reading = reading.then(() => read(isForced));
    return reading;
  };
  const schedule = (): void => {
    // The policy alone does not keep a program running.
    timer = unrefTimer(
      setTimeout(() => void reload(false).finally(() => isClosed || schedule()), timerMs(pollMs)),
    );
  };
  schedule();

  return {
    decide: (request) => rules.decide(request),
    decideAll: (requests) => requests.map((request) => rules.decide(request)),
    source: () => rules,
    onChange: (listener) => changes.on("change", listener),
    reload: () => reload(true),
    close() {
      isClosed = true;
      clearTimeout(timer);
      changes.clear();
    },
  };
}

async function readFile(options: ReadPolicyOptions & { readonly file: string }): Promise<CompiledPolicy> {
  const { file } = options;
  const { readFile: readText } = await import("node:fs/promises");
  const text = await readText(file, "utf8").catch((cause: unknown) => {
    throw unreadable(file, cause);
  });
  return readRules(text.replace(/^\uFEFF/, ""), options);
}

/** Changes with every write and every replacement of the file. Follows links. */
async function versionOf(file: string): Promise<string> {
  const { stat } = await import("node:fs/promises");
  const found = await stat(file, { bigint: true }).catch((cause: unknown) => {
    throw unreadable(file, cause);
  });
  if (found.size > MAX_BYTES) throw unreadable(file, `it is larger than ${MAX_BYTES} bytes`);
  return `${found.dev}:${found.ino}:${found.size}:${found.mtimeNs}:${found.ctimeNs}`;
}

function unreadable(file: string, cause: unknown): ConfigError {
  const code = (cause as { code?: string }).code;
  const message =
    typeof cause === "string" ? cause : `it cannot be read${code === undefined ? "" : ` (${code})`}`;
  return new ConfigError({
    code: "UNREADABLE_CONFIG",
    what: "The policy file cannot be read",
    issues: [{ file, path: "", message }],
    next: "Check the path and its permissions",
    cause: typeof cause === "string" ? undefined : cause,
  });
}
