/** `DEBUG=toolport:*`: what the `debug` package does, in a form that every runtime can load. */

import { visibleLine } from "../util/visible-text.js";

/** The parts of Toolport that can be watched. */
export type ChannelName = "connection" | "catalog" | "call" | "auth" | "wire";

export interface DebugChannel {
  /** Look here first: building a message that nobody reads costs time. */
  readonly enabled: boolean;
  (message: string): void;
}

/** Whether `name` fits a pattern in which `*` stands for anything; without a regular expression, so in linear time. */
function fits(name: string, pattern: string): boolean {
  const [head = "", ...rest] = pattern.split("*");
  const tail = rest.pop();
  if (tail === undefined) return name === head;
  if (!name.startsWith(head)) return false;
  let at = head.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - tail.length >= at && name.endsWith(tail);
}

/** Whether a `DEBUG` value (`a,b:*,-b:c`) names this channel. */
export function isChannelEnabled(name: string, patterns: string | undefined): boolean {
  if (!patterns) return false;
  let enabled = false;
  for (const pattern of patterns.split(/[\s,]+/).filter(Boolean)) {
    const negative = pattern.startsWith("-");
    const matches = fits(name, negative ? pattern.slice(1) : pattern);
    if (matches && negative) return false;
    enabled ||= matches;
  }
  return enabled;
}

const environment = (): string | undefined =>
  typeof process === "object" ? process.env?.["DEBUG"] : undefined;

/** Names under which users of `@langchain/mcp-adapters` know the channels. What is on the wire is not among them. */
const ALIASES: Readonly<Partial<Record<ChannelName, readonly string[]>>> = {
  connection: ["@langchain/mcp-adapters:client", "@langchain/mcp-adapters:connection"],
  auth: ["@langchain/mcp-adapters:client", "@langchain/mcp-adapters:connection"],
  catalog: ["@langchain/mcp-adapters:tools"],
  call: ["@langchain/mcp-adapters:tools"],
};

/** A channel named `toolport:<name>`. It writes to stderr only, and only when `DEBUG` names it: one line a message. */
export function debugChannel(name: ChannelName): DebugChannel {
  const full = `toolport:${name}`;
  const patterns = environment();
  const enabled = [full, ...(ALIASES[name] ?? [])].some((known) => isChannelEnabled(known, patterns));
  const channel = (message: string): void => {
    if (enabled) console.error(`${full} ${visibleLine(message)}`);
  };
  return Object.assign(channel, { enabled });
}
