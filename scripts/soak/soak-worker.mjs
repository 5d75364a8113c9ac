/** Uses one server in rounds: waves of calls with faults, then a check that it works again. */

/** Faults that end the connection, by kind of server; the process of the HTTP servers dies with all of them. */
const ENDING = {
  stdio: ["die", "die", "leave", "cut"],
  http: [...Array(24).fill("forget"), "die"],
};
/** Faults that fail at most one call. */
const PASSING = {
  stdio: ["abort", "garbage", "oversize"],
  http: ["abort", "garbage", "oversize", "cut"],
};
const MAX_PASSING = 3;
/** Concurrent calls: a fault fails those in flight. */
const WAVE = 25;
const RECOVERY_MS = 15_000;

/** Larger than the message limit of the soak test. */
const OVERSIZE_BYTES = 96 * 1024;
export const MAX_MESSAGE_BYTES = 64 * 1024;

export class SoakWorker {
  calls = 0;

  /** `tally` counts faults and errors; `signal` is shared by all calls that are not aborted on their own. */
  constructor({ name, toolport, random, tally, signal, isTyped }) {
    this.name = name;
    this.kind = name.startsWith("stdio") ? "stdio" : "http";
    Object.assign(this, { toolport, random, tally, signal, isTyped });
  }

  /** `size` calls in waves; with `ending`, one of them ends the connection. */
  async round(size, { ending }) {
    const faults = Array.from({ length: this.random.below(MAX_PASSING + 1) }, () =>
      this.random.pick(PASSING[this.kind]),
    );
    if (ending) faults.push(this.random.pick(ENDING[this.kind]));
    const places = new Map(faults.map((fault) => [this.random.below(size), fault]));
    for (let begun = 0; begun < size; begun += WAVE) {
      const wave = Array.from({ length: Math.min(WAVE, size - begun) }, (_, i) =>
        places.has(begun + i) ? this.#fault(places.get(begun + i)) : this.#echo(),
      );
      await Promise.all(wave);
    }
    await this.#recover();
  }

  /** The response must be right, or the failure typed. */
  async #echo() {
    this.calls += 1;
    const text = `${this.name} ${this.calls}`;
    try {
      const answer = await this.toolport.callTool(`${this.name}__echo`, { text }, { signal: this.signal });
      if (answer.text !== text) this.tally.problem(`asked for "${text}", was answered "${answer.text}"`);
      else this.tally.answered += 1;
    } catch (error) {
      this.#failed(error);
    }
  }

  async #fault(fault) {
    this.calls += 1;
    this.tally.fault(`${fault} (${this.kind})`);
    try {
      if (fault === "abort") await this.#abort();
      else
        await this.toolport.callTool(
          `${this.name}__${fault}`,
          { text: "noise", bytes: OVERSIZE_BYTES },
          { signal: this.signal },
        );
    } catch (error) {
      this.#failed(error);
    }
  }

  async #abort() {
    const controller = new AbortController();
    const reason = new Error("changed my mind");
    const call = this.toolport.callTool(
      `${this.name}__slow`,
      { ms: 20 + this.random.below(60) },
      { signal: controller.signal },
    );
    setTimeout(() => controller.abort(reason), this.random.below(20));
    await call.catch((error) => {
      if (error !== reason) throw error;
    });
  }

  #failed(error) {
    if (this.isTyped(error)) this.tally.error(error.code);
    else this.tally.problem(`an error that is not typed: ${error?.stack ?? error}`);
  }

  /** Calls again with the same tool, and connects the server if it is `failed`. */
  async #recover() {
    const deadline = performance.now() + RECOVERY_MS;
    for (;;) {
      const text = `${this.name} again`;
      this.calls += 1;
      try {
        const answer = await this.toolport.callTool(
          `${this.name}__echo`,
          { text },
          { timeoutMs: RECOVERY_MS },
        );
        if (answer.text !== text) this.tally.problem(`asked for "${text}", was answered "${answer.text}"`);
        else this.tally.answered += 1;
        return;
      } catch (error) {
        this.#failed(error);
        if (performance.now() > deadline)
          return this.tally.problem(`${this.name} did not come back: ${error}`);
        if (error?.code === "RESTART_LIMIT") await this.toolport.connectServer(this.name).catch(() => {});
        else await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
  }
}
