/** One run for all who ask for the same at the same time. */

export function shareRun<T>(
  running: Map<string, Promise<T>>,
  key: string,
  run: () => Promise<T>,
): Promise<T> {
  const known = running.get(key);
  if (known !== undefined) return known;
  const started = run().finally(() => running.delete(key));
  running.set(key, started);
  return started;
}
