/** One at a time, a few in line, the rest turned away: what a flood of requests of one kind meets. */
import { ToolCallError } from "../../errors/tool-call-error.js";

/** Requests that may wait while one is being answered. */
export const MAX_WAITING = 16;

export class RequestGate {
  readonly #line = new Set<() => void>();
  #busy = false;

  /** Nobody is inside and nobody waits. */
  get idle(): boolean {
    return !this.#busy;
  }

  /**
   * Runs `work` when its turn comes. The place is held until the work is really over, even if its signal was aborted:
   * a callback that does not listen to it must not be started again and again.
   */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    await this.#enter(signal);
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      this.#leave();
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    if (!this.#busy) {
      this.#busy = true;
      return;
    }
    if (this.#line.size >= MAX_WAITING) throw overloaded();
    await new Promise<void>((resolve, reject) => {
      const admit = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        this.#line.delete(admit);
        reject(signal.reason);
      };
      this.#line.add(admit);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  #leave(): void {
    const [next] = this.#line;
    if (next === undefined) {
      this.#busy = false;
    } else {
      this.#line.delete(next);
      next();
    }
  }
}

function overloaded(): ToolCallError {
  return new ToolCallError({
    code: "OVERLOADED",
    what: `The server asks for more at once than can be answered: ${MAX_WAITING} requests wait already`,
    next: "Look at what the server does",
  });
}
