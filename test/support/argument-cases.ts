/** Arguments as models write them, each with its outcome, from `fixtures/argument-cases.json`. */
import { readFileSync } from "node:fs";

export interface ArgumentCase {
  readonly id: string;
  readonly title: string;
  readonly schema: Record<string, unknown>;
  readonly arguments: Record<string, unknown>;
  /** Added by an interceptor after the check. */
  readonly added?: Record<string, unknown>;
  readonly expect: {
    readonly outcome: "sent" | "warned" | "repaired" | "refused";
    readonly arguments?: Record<string, unknown>;
    readonly repairs?: readonly { path: string; change: string; to?: string }[];
    /** The path of one reported problem. */
    readonly issue?: string;
  };
}

const file = new URL("../fixtures/argument-cases.json", import.meta.url);

export const argumentCases: readonly ArgumentCase[] = JSON.parse(readFileSync(file, "utf8")).cases;

/** For `test.each`. */
export const argumentRows = argumentCases.map((given) => [given.id, given.title, given] as const);
