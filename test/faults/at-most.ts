/** Limits for bounds of the catalogue. The figures themselves are measured by `npm run compare:faults`, against a control. */

/** Processes are real here and the machine may be busy, so a test fails at ten times the bound: a hang, not a slow machine. */
const SLACK = 10;

export const atMost = (boundMs: number): number => boundMs * SLACK;
