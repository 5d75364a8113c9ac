/** What a user agrees to when a server may be started: a hash that changes with everything that matters. */
import { createHash } from "node:crypto";
import { parseServerEntry } from "../config/parse-servers.js";
import { SecretRecord } from "../config/secret-record.js";
import type { HeaderSource, ServerConfig } from "../config/server-config.js";
import type { ServerEntry } from "../config/server-entry.js";

/** Variables whose value decides what is run, so that their value counts like an argument. */
const RUNS_CODE =
  /^(?:LD_|DYLD_|NODE_OPTIONS$|NODE_PATH$|PATH$|PYTHON(?:PATH|STARTUP|HOME)$|PERL5(?:LIB|OPT)$|RUBY(?:OPT|LIB)$|JAVA_TOOL_OPTIONS$|_JAVA_OPTIONS$|BASH_ENV$|ENV$|SHELL$|PROMPT_COMMAND$|GIT_|NPM_CONFIG_|PIP_|UV_|DOCKER_)/i;

/** Whether the value of a variable can make a program run something else. */
export const decidesWhatRuns = (name: string): boolean => RUNS_CODE.test(name);

/**
 * A hash of the command, its arguments, the names of its variables, its folder, the address and the names of the
 * headers. Values of variables and headers do not count, so that a new password asks nothing, except of those
 * variables that decide what is run.
 *
 * @example
 * ```ts
 * configFingerprint({ command: "npx", args: ["-y", "server"] }) === configFingerprint({ command: "npx", args: ["-y", "server2"] }); // false
 * ```
 */
export function configFingerprint(entry: ServerEntry): string {
  const config = parseServerEntry("server", entry);
  return createHash("sha256")
    .update(JSON.stringify(identityOf(config)))
    .digest("hex");
}

function identityOf(config: ServerConfig): unknown {
  switch (config.kind) {
    case "stdio": {
      const { kind, command, args, env, cwd, inheritEnv } = config;
      return { kind, command, args, cwd: cwd ?? null, env: variablesOf(env), inheritEnv };
    }
    case "docker": {
      const { kind, image, dockerHost, engine, args, env, mounts, runArgs } = config;
      return {
        kind,
        image,
        dockerHost: dockerHost ?? null,
        engine,
        args,
        env: variablesOf(env),
        mounts,
        runArgs,
      };
    }
    case "http":
    case "sse":
    case "websocket":
      return { kind: config.kind, url: config.url, headers: headerNames(config.headers) };
    case "custom":
      return { kind: "custom" };
  }
}

function variablesOf(env: SecretRecord): unknown {
  const values = env.reveal();
  return [...env.names].sort().map((name) => (decidesWhatRuns(name) ? [name, values[name]] : [name]));
}

const headerNames = (headers: HeaderSource): string[] =>
  headers instanceof SecretRecord ? headers.names.map((name) => name.toLowerCase()).sort() : ["(a function)"];
