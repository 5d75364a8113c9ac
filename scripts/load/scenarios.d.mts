/** See scenarios.mjs. */
import type { Toolport } from "toolport";

export interface Spread {
  p50: number;
  p99: number;
}
export interface ConnectionFigures {
  count: number;
  ready: number;
  problems: string[];
  connectAllMs: number;
  connectCpuMs: number;
  connectMs: Spread;
  callMs: Spread;
  rssPerConnection: number;
  heapPerConnection: number;
}
export interface InFlightFigures {
  calls: number;
  inFlight: number;
  servers: number;
  ms: number;
  cpuMsPerCall: number;
  callsPerSecond: number;
  callMs: Spread;
  rssPerCall: number;
}
export function measureConnections(toolport: Toolport, count: number): Promise<ConnectionFigures>;
export function measureInFlight(
  toolport: Toolport,
  options: { calls: number; inFlight: number; servers?: number },
): Promise<InFlightFigures>;
export function compareInFlight(
  toolport: Toolport,
  options: { calls: number; few?: number; many?: number; servers?: number; rounds?: number },
): Promise<{ few: InFlightFigures; many: InFlightFigures; ratio: number }>;
