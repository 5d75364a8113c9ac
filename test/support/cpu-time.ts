/** Processor time instead of wall time: a busy machine does not change it, so a test may compare it with a generous limit. */

/** Milliseconds of CPU time that this process has used so far. */
export function cpuTimeMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
