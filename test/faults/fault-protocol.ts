/** The stdio server that violates the protocol, and the warnings about it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { StdioServerEntry, Toolport } from "toolport";
import type { FaultHarness } from "./fault-harness.js";

export const FAULT_PROTOCOL_SERVER = fileURLToPath(
  new URL("../fixtures/servers/fault-protocol.mjs", import.meta.url),
);

export const speaksOddly = (...flags: string[]): StdioServerEntry => ({
  command: process.execPath,
  args: [FAULT_PROTOCOL_SERVER, ...flags],
});

/** Connects the server `it`; rejects with its error. */
export async function connecting(toolport: Toolport): Promise<void> {
  const { error } = await toolport.connectServer("it");
  if (error !== undefined) throw error;
}

/** Log lines about the server `it`. */
export const warningsOf = ({ logged }: FaultHarness): string[] =>
  logged.filter((line) => line.startsWith("warn [it]"));

/** A file in the harness that a server writes to, and its lines so far. */
export function journalIn({ folder }: FaultHarness): { readonly path: string; lines(): string[] } {
  const path = join(folder, "journal");
  return {
    path,
    lines() {
      try {
        return readFileSync(path, "utf8").split("\n").filter(Boolean);
      } catch {
        return [];
      }
    },
  };
}
