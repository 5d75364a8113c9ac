/** Whether a connection is in use, and since when it is not. */
export class Usage {
  #users = 0;
  #idleSince = 0;

  /** How long nothing has used it; 0 while something does. */
  get idleMs(): number {
    return this.#users === 0 ? performance.now() - this.#idleSince : 0;
  }

  /** It counts as used until the returned function is called. */
  begin(): () => void {
    this.#users += 1;
    return () => {
      this.#users -= 1;
      if (this.#users === 0) this.touch();
    };
  }

  /** It was used just now. */
  touch(): void {
    this.#idleSince = performance.now();
  }
}
