/** Merges the servers of several files. The first server of each name takes precedence. */

import { ConfigIssues } from "../config/config-issues.js";
import { checkFallback } from "../config/parse-servers.js";
import type { FallbackOption, ServerEntry } from "../config/server-entry.js";
import type { ConfigIssue } from "../errors/config-error.js";
import type { ConfigSource } from "./config-locations.js";
import type { CheckedServer } from "./expand-server.js";
import type { WrittenServer } from "./read-servers.js";

/** A validated server. */
type ReadServer = Pick<WrittenServer, "name" | "source" | "locate"> & Pick<CheckedServer, "good">;

export interface MergedServers {
  readonly mcpServers: Record<string, ServerEntry>;
  readonly sources: Record<string, ConfigSource>;
  readonly issues: readonly ConfigIssue[];
  readonly warnings: readonly ConfigIssue[];
}

export function mergeServers(servers: readonly ReadServer[]): MergedServers {
  const winners = new Map<string, ReadServer>();
  const warnings: ConfigIssue[] = [];
  for (const server of servers) {
    const first = winners.get(server.name);
    if (first === undefined) winners.set(server.name, server);
    else warnings.push(shadowed(server, first));
  }
  const issues: ConfigIssue[] = [];
  const entries: [string, ServerEntry][] = [];
  const sources: [string, ConfigSource][] = [];
  for (const [name, { good, source, locate }] of winners) {
    if (good === undefined) continue;
    const found = new ConfigIssues("mcpServers", (path) => locate(path.slice(1)));
    checkFallback(good.config, [...winners.keys()], found);
    issues.push(...found.list);
    const isGood = (other: string) => other !== name && winners.get(other)?.good !== undefined;
    entries.push([name, withoutLostFallbacks(good.entry, isGood)]);
    sources.push([name, source]);
  }
  return {
    mcpServers: Object.fromEntries(entries),
    sources: Object.fromEntries(sources),
    issues,
    warnings,
  };
}

function shadowed({ name, source }: ReadServer, first: ReadServer): ConfigIssue {
  const message = `is not used: ${first.source.file}:${first.source.line} has a server of this name and takes precedence`;
  return { file: source.file, line: source.line, path: name, message };
}

/** Removes fallbacks to servers that could not be loaded. */
function withoutLostFallbacks(entry: ServerEntry, isGood: (name: string) => boolean): ServerEntry {
  const { fallback } = entry;
  if (fallback === undefined) return entry;
  const names = namesIn(fallback);
  const good = names.filter(isGood);
  if (good.length === names.length) return entry;
  const { fallback: _lost, ...rest } = entry;
  if (good.length === 0) return rest as ServerEntry;
  const isDetailed = typeof fallback === "object" && "servers" in fallback;
  return { ...rest, fallback: isDetailed ? { ...fallback, servers: good } : good } as ServerEntry;
}

function namesIn(fallback: FallbackOption): readonly string[] {
  const servers = typeof fallback === "object" && "servers" in fallback ? fallback.servers : fallback;
  return typeof servers === "string" ? [servers] : servers;
}
