/** Reads of lists that are under way, and the order in which they began. */
export class Readings {
  readonly #underWay = new Map<string, Set<Promise<unknown>>>();
  #turns = 0;

  /** The turn of the latest read. */
  get turns(): number {
    return this.#turns;
  }

  /** Runs a read of one server. `turn` is higher than that of every earlier read. */
  run<Result>(server: string, read: (turn: number) => Promise<Result>): Promise<Result> {
    const running = this.#underWay.get(server) ?? new Set();
    this.#underWay.set(server, running);
    this.#turns += 1;
    const reading = read(this.#turns).finally(() => {
      running.delete(reading);
      if (running.size === 0) this.#underWay.delete(server);
    });
    running.add(reading);
    return reading;
  }

  /** Resolves when no read of this server is under way. */
  async idle(server: string): Promise<void> {
    for (;;) {
      const running = this.#underWay.get(server);
      if (running === undefined) return;
      await Promise.allSettled(running);
    }
  }
}
