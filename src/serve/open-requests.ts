/** Counts open requests, so that the end of a gateway can wait for them. */
import { unrefTimer } from "../util/timers.js";

export class OpenRequests {
  #count = 0;
  #onIdle: (() => void) | undefined;

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#onIdle?.();
  }

  /** Resolves when no request is open, or after `limitMs`. */
  async drained(limitMs: number): Promise<void> {
    if (this.#count === 0) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      timer = unrefTimer(setTimeout(resolve, limitMs));
    });
    clearTimeout(timer);
  }
}
