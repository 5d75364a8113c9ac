/** The limits of a gateway on the calls of one program: each counts as a request of its user. */
import { ToolCallError } from "../../errors/tool-call-error.js";
import type { Fields } from "../../util/is-record.js";
import { sleep } from "../../util/sleep.js";
import type { GatewayUser, Users } from "../users.js";

/** A call that would have to wait longer for the rate of its user fails. */
const MAX_WAIT_MS = 10_000;

export class ProgramLimits {
  readonly #users: Users;
  readonly #user: GatewayUser;
  /** The request `execute` has a place among the requests of the user. One call uses it, so that a program can always go on. */
  #isOwnPlaceUsed = false;

  constructor(users: Users, user: GatewayUser) {
    this.#users = users;
    this.#user = user;
  }

  /**
   * Waits until the user may make one more request. A program is slowed down where a client gets 429, because its earlier calls
   * have run already.
   *
   * @param args large ones wait for their turn among the large bodies of the user
   * @returns a function to call when the call is over
   */
  async enter(args: Fields, signal: AbortSignal): Promise<() => void> {
    await this.#waitForRate(signal);
    await this.#users.turn(this.#user, JSON.stringify(args).length, signal);
    for (;;) {
      if (!this.#isOwnPlaceUsed) {
        this.#isOwnPlaceUsed = true;
        return () => {
          this.#isOwnPlaceUsed = false;
          this.#users.wake(this.#user);
        };
      }
      const leave = this.#users.tryPlace(this.#user);
      if (leave !== undefined) return leave;
      await this.#users.freed(this.#user, signal);
    }
  }

  async #waitForRate(signal: AbortSignal): Promise<void> {
    const end = performance.now() + MAX_WAIT_MS;
    for (;;) {
      const waitMs = this.#users.takeRate(this.#user);
      if (waitMs === 0) return;
      if (performance.now() + waitMs > end)
        throw new ToolCallError({
          code: "OVERLOADED",
          what: "The user has made more requests than the gateway allows in this time",
          next: "Make fewer calls, or run the rest of the program later",
          outcome: "unsent",
        });
      await sleep(waitMs, signal);
    }
  }
}
