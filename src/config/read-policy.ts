/** Readers for what a server entry says about its tools and calls: filters, cache, fallback, limits. */

import type { ToolFilter } from "../model/listed-tool.js";
import { type EntryReader, isRecord } from "./entry-reader.js";
import type { FailurePredicate } from "./failure-predicate.js";
import type { FallbackConfig, ServerConfig } from "./server-config.js";
import type { CacheOption, CheckArguments, ProgressReport } from "./server-entry.js";

/** A list of names, or one name for a list of one; undefined where there is none. */
function names(reader: EntryReader, key: string): readonly string[] | undefined {
  const value = reader.raw(key);
  if (value === undefined) return undefined;
  if (typeof value === "string") return Object.freeze([value]);
  return reader.texts(key);
}

export function readCache(reader: EntryReader): CacheOption | undefined {
  const value = reader.raw("cache");
  if (value === undefined || typeof value === "boolean") return value;
  if (!isRecord(value)) return reader.report("cache", 'must be true, false or { "ttlMs": 60000 }');
  const inner = reader.inner("cache");
  inner?.rejectUnknown(["ttlMs"]);
  const ttlMs = inner?.number("ttlMs", { min: 0 });
  return ttlMs === undefined ? reader.report("cache", 'needs "ttlMs"') : Object.freeze({ ttlMs });
}

function readFallback(reader: EntryReader): FallbackConfig | undefined {
  const value = reader.raw("fallback");
  if (value === undefined) return undefined;
  const whole = { tools: Object.freeze({}), when: "transient" as const };
  if (typeof value === "string" || Array.isArray(value)) {
    return Object.freeze({ ...whole, servers: names(reader, "fallback") ?? [] });
  }
  const inner = reader.inner("fallback");
  if (inner === undefined) return undefined;
  inner.rejectUnknown(["servers", "tools", "when"]);
  return Object.freeze({
    servers: names(inner, "servers") ?? inner.report("servers", "is needed") ?? [],
    tools: Object.freeze(inner.textMap("tools", () => undefined)),
    when: readWhen(inner) ?? "transient",
  });
}

function readWhen(reader: EntryReader): FallbackConfig["when"] | undefined {
  const value = reader.raw("when");
  if (value === undefined || value === "transient" || value === "unsent") return value;
  if (typeof value === "function") return value as FailurePredicate;
  return reader.report("when", 'must be "transient", "unsent" or a function');
}

export const readCheckArguments = (reader: EntryReader): CheckArguments | undefined =>
  reader.choice("checkArguments", ["repair", "strict", "off"]);

export function readRateLimit(
  reader: EntryReader,
): { perSecond: number; burst?: number | undefined } | undefined {
  const inner = reader.inner("rateLimit");
  if (inner === undefined) return undefined;
  inner.rejectUnknown(["perSecond", "burst"]);
  const perSecond = inner.number("perSecond", { min: 0, above: true });
  const burst = inner.number("burst", { min: 1, integer: true });
  return perSecond === undefined
    ? inner.report("perSecond", "is needed")
    : Object.freeze({ perSecond, burst });
}

function readToolTimeouts(reader: EntryReader): Readonly<Record<string, number>> | undefined {
  const inner = reader.inner("toolTimeoutsMs");
  if (inner === undefined) return undefined;
  const limits: Record<string, number> = Object.create(null);
  for (const name of inner.keys) {
    const limit = inner.number(name, { min: 0, above: true, infinite: true });
    if (limit !== undefined) limits[name] = limit;
  }
  return Object.freeze(limits);
}

type Policy = Pick<
  ServerConfig,
  | "toolTimeoutsMs"
  | "onProgress"
  | "fallback"
  | "only"
  | "except"
  | "filter"
  | "cache"
  | "trustAnnotations"
  | "checkArguments"
  | "concurrency"
  | "rateLimit"
>;

/** A field that must be a function, if it is there. */
export function readFunction<Value>(reader: EntryReader, key: string): Value | undefined {
  const value = reader.raw(key);
  if (value === undefined || typeof value === "function") return value as Value | undefined;
  return reader.report(key, "must be a function");
}

export function readPolicy(reader: EntryReader): Policy {
  return {
    toolTimeoutsMs: readToolTimeouts(reader),
    onProgress: readFunction<(progress: ProgressReport) => unknown>(reader, "onProgress"),
    fallback: readFallback(reader),
    only: names(reader, "only"),
    except: names(reader, "except"),
    filter: readFunction<ToolFilter>(reader, "filter"),
    cache: readCache(reader),
    trustAnnotations: reader.flag("trustAnnotations", false),
    checkArguments: readCheckArguments(reader),
    concurrency: reader.number("concurrency", { min: 1, integer: true }),
    rateLimit: readRateLimit(reader),
  };
}
