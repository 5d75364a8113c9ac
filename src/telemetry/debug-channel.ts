/** `DEBUG=toolport:*`, like the `debug` package, for every runtime. */

import { compileNames } from "../util/glob.js";
import { visibleLine } from "../util/visible-text.js";

/** The channels of Toolport. */
export type ChannelName = "connection" | "catalog" | "call" | "auth" | "wire";

export interface DebugChannel {
  /** Check this before building an expensive message. */
  readonly enabled: boolean;
  (message: string): void;
}

/** Whether a `DEBUG` value (`a,b:*,-b:c`) names this channel. */
export function isChannelEnabled(name: string, patterns: string | undefined): boolean {
  if (!patterns) return false;
  let enabled = false;
  for (const pattern of patterns.split(/[\s,]+/).filter(Boolean)) {
    const negative = pattern.startsWith("-");
    const matches = compileNames([negative ? pattern.slice(1) : pattern])(name);
    if (matches && negative) return false;
    enabled ||= matches;
  }
  return enabled;
}

/** Channel names of `@langchain/mcp-adapters`. None includes `wire`. */
const ALIASES: Readonly<Partial<Record<ChannelName, readonly string[]>>> = {
  connection: ["@langchain/mcp-adapters:client", "@langchain/mcp-adapters:connection"],
  auth: ["@langchain/mcp-adapters:client", "@langchain/mcp-adapters:connection"],
  catalog: ["@langchain/mcp-adapters:tools"],
  call: ["@langchain/mcp-adapters:tools"],
};

/** The channel `toolport:<name>`. Writes one line per message to stderr if `DEBUG` enables it. */
export function debugChannel(name: ChannelName): DebugChannel {
  const full = `toolport:${name}`;
  const patterns = typeof process === "object" ? process.env?.["DEBUG"] : undefined;
  const enabled = [full, ...(ALIASES[name] ?? [])].some((known) => isChannelEnabled(known, patterns));
  const channel = (message: string): void => {
    if (enabled) console.error(`${full} ${visibleLine(message)}`);
  };
  return Object.assign(channel, { enabled });
}
