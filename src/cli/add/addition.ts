/** A server that is to be added, and what has to be said about it first. */

export interface Addition {
  readonly name: string;
  /** As it will be written, variables included. */
  readonly entry: Readonly<Record<string, unknown>>;
  /** What the user is shown. */
  readonly shown: unknown;
  /** Somebody else wrote it: the user has to see it and agree. */
  readonly needsConsent: boolean;
  readonly warnings: readonly string[];
}
