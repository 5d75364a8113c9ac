/** See run-soak.mjs. */
import type { createToolport, ToolportError } from "toolport";

export interface SoakOptions {
  calls?: number;
  reconnects?: number;
  seed?: number;
  minutes?: number;
  stdio?: number;
  http?: number;
}
export interface SoakReport {
  seed: number;
  calls: number;
  reconnects: number;
  ms: number;
  answered: number;
  faults: Record<string, number>;
  errors: Record<string, number>;
  flat: { growthMib: number; mibPerHour: number; bytesPerCall: number };
  problems: string[];
}
export function runSoak(
  library: { createToolport: typeof createToolport; ToolportError: typeof ToolportError },
  options: SoakOptions,
): Promise<SoakReport>;
