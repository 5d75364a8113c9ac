/** Watches the worker threads that this process starts. */
import type { Worker } from "node:worker_threads";

export interface ThreadWatch {
  /** Threads that have not ended. */
  alive(): number;
  /** The thread that was started first. */
  first(): Worker | undefined;
  /** How many were started. */
  readonly started: number;
  stop(): void;
}

export function watchThreads(): ThreadWatch {
  const alive = new Set<Worker>();
  let first: Worker | undefined;
  let started = 0;
  const note = (worker: Worker): void => {
    first ??= worker;
    started += 1;
    alive.add(worker);
    worker.once("exit", () => alive.delete(worker));
  };
  process.on("worker", note);
  return {
    alive: () => alive.size,
    first: () => first,
    get started() {
      return started;
    },
    stop: () => void process.off("worker", note),
  };
}
