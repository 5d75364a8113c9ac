/** A clock that moves only when a schedule says so. Between two timers, all work that needs no timer is finished. */
import { vi } from "vitest";

const FAKED = ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"] as const;
/** Work without timers and sockets is over after so many turns of the event loop without a message. */
const QUIET_TURNS = 4;

export class VirtualTime implements Disposable {
  #messages = 0;

  constructor() {
    vi.useFakeTimers({ toFake: [...FAKED], now: Date.UTC(2026, 10, 18) });
  }

  /** A message was sent or received. */
  readonly note = (): void => {
    this.#messages += 1;
  };

  /** Timers that are set. */
  get timers(): number {
    return vi.getTimerCount();
  }

  /** Lets the event loop turn. */
  async turns(count: number): Promise<void> {
    for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Resolves when nothing happens any more without a timer. */
  async quiet(): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TURNS; quiet += 1) {
      const before = this.#messages;
      await this.turns(1);
      if (this.#messages !== before) quiet = -1;
    }
  }

  /** Lets `ms` pass, or less if `isDone` before. Timers fire in their order, and what they begin is finished before the next one. */
  async pass(ms: number, isDone: () => boolean = () => false): Promise<void> {
    let isOver = false;
    const end = setTimeout(() => {
      isOver = true;
    }, ms);
    await this.quiet();
    while (!isOver && !isDone()) {
      vi.advanceTimersToNextTimer();
      await this.quiet();
    }
    clearTimeout(end);
  }

  /** Sets the clock forward at once. */
  skip(ms: number): void {
    vi.setSystemTime(Date.now() + ms);
  }

  [Symbol.dispose](): void {
    vi.useRealTimers();
  }
}
