/** Lists of tools to name, and the rules for every list of names. */
import { expect } from "vitest";
import { lookOf } from "../../packages/base/src/util/look-alikes.js";
import {
  assignNames,
  type NameOptions,
  RESERVED_NAMES,
} from "../../packages/core/src/catalog/names/assign-names.js";
import type { SourceTool } from "../../packages/core/src/catalog/source-tool.js";

export type Listed = readonly [server: string, tool: string];

/** Names that providers accept, by their documentation. */
export const PROVIDERS = {
  openai: /^[a-zA-Z0-9_-]{1,64}$/,
  anthropic: /^[a-zA-Z0-9_-]{1,128}$/,
  gemini: /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/,
  toolport: /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/,
};
export const FINGERPRINT = "[0-9a-hjkmnp-tv-z]{10}";
export const LONG = `get_${"very_".repeat(23)}long_name`;

export const toEntry = ([server, sourceName]: Listed) => ({
  server: { name: server },
  tool: { name: sourceName, sourceName, inputSchema: {} } as unknown as SourceTool,
});
export const assign = (tools: readonly Listed[], options: Partial<NameOptions> = {}) =>
  assignNames(tools.map(toEntry), { prefix: true, additionalToolNamePrefix: "", ...options });

/** Checks all guarantees for a list of names. */
export function expectSound(names: readonly string[]): void {
  for (const name of names) {
    for (const [provider, rule] of Object.entries(PROVIDERS)) expect(name, provider).toMatch(rule);
    expect(RESERVED_NAMES.map(lookOf)).not.toContain(lookOf(name));
  }
  expect(new Set(names.map(lookOf)).size).toBe(names.length);
}
