/** Finds gateways that start themselves: each one passes the configurations above it on to the processes it starts. */
import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { hostname } from "node:os";
import { ConfigError } from "../../errors/config-error.js";
import { SERVE_CHAIN_VARIABLE } from "../../transports/stdio/spawn-environment.js";

/** Gateways above a gateway. */
const MAX_DEPTH = 3;
const HASH_LENGTH = 16;

/**
 * The chain for the processes that this gateway starts: the hashes of the files of each gateway, `a+b/c`.
 *
 * @param above the value of the variable in this process
 * @param files the configuration files of this gateway
 * @throws ConfigError if a gateway above uses all of these files, or if there are too many above
 */
export function extendServeChain(above: string | undefined, files: readonly string[]): string {
  const gateways = above ? above.split("/") : [];
  const own = [...new Set(files.map(hashOf))].sort();
  const isAbove = gateways.some((gateway) => {
    const known = new Set(gateway.split("+"));
    return own.length > 0 && own.every((hash) => known.has(hash));
  });
  if (isAbove)
    throw new ConfigError({
      code: "INVALID_CONFIG",
      what: `This gateway was started by a gateway with the same configuration, and would start itself again: ${files.join(", ")}`,
      next: "Remove the entry that runs `toolport serve`, or give it a file of its own with --config",
    });
  if (gateways.length > MAX_DEPTH)
    throw new ConfigError({
      code: "INVALID_CONFIG",
      what: `There are ${gateways.length} gateways above this one, each started by the one before; ${MAX_DEPTH} are allowed`,
      next: "Connect the servers to one gateway",
    });
  return [...gateways, own.join("+") || "-"].join("/");
}

/** Sets the variable until the returned function is called. */
export function enterServeChain(files: readonly string[], env: NodeJS.ProcessEnv = process.env): () => void {
  const before = env[SERVE_CHAIN_VARIABLE];
  env[SERVE_CHAIN_VARIABLE] = extendServeChain(before, files);
  return () => {
    if (before === undefined) delete env[SERVE_CHAIN_VARIABLE];
    else env[SERVE_CHAIN_VARIABLE] = before;
  };
}

/** By path, so that a change of the file does not hide a loop. Two containers may have different files at the same path. */
function hashOf(file: string): string {
  const parts = JSON.stringify([hostname(), realPath(file)]);
  return createHash("sha256").update(parts).digest("hex").slice(0, HASH_LENGTH);
}

function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
