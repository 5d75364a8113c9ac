/** Processor time instead of wall time: a busy machine does not change it, so a test may compare it with a generous limit. */

/** Milliseconds that this process has computed so far. */
export function cpuTimeMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
