/** How often a user is sent to log in before it is clear that it does not help. */

/** Logins in a row whose tokens the server refused. */
const MAX_LOGINS = 3;
/** Logins for more rights, within {@link WINDOW_MS}: each success in between looks like progress, so time counts here. */
const MAX_STEP_UPS = 3;
const WINDOW_MS = 600_000;

/** Counts over all calls to one server by one user. A login that nobody came back from costs nothing. */
export class AuthorizationBudget {
  readonly #now: () => number;
  readonly #reasons = new Set<string>();
  #stepUps: { readonly scope: string; readonly at: number }[] = [];

  constructor(now: () => number) {
    this.#now = now;
  }

  /** False if there were too many. @param refused the token that made this login necessary */
  allowsLogin(refused: string | undefined): boolean {
    const reason = refused ?? "";
    if (!this.#reasons.has(reason) && this.#reasons.size >= MAX_LOGINS) return false;
    this.#reasons.add(reason);
    return true;
  }

  allowsStepUp(scope: string): boolean {
    const since = this.#now() - WINDOW_MS;
    this.#stepUps = this.#stepUps.filter(({ at }) => at > since);
    if (this.#stepUps.some((stepUp) => stepUp.scope === scope)) return true;
    if (this.#stepUps.length >= MAX_STEP_UPS) return false;
    this.#stepUps.push({ scope, at: this.#now() });
    return true;
  }

  /** The server has taken a token. */
  succeeded(): void {
    if (this.#reasons.size > 0) this.#reasons.clear();
  }

  /** The user starts over. */
  reset(): void {
    this.#reasons.clear();
    this.#stepUps = [];
  }
}
