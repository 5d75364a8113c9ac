/** What a store's contract is tried on, and the checks it uses. Free of Vitest and Node: it also runs inside workerd. */
import type { Store } from "../../src/state/store.js";

/** A fresh, empty store. */
export interface StoreSubject {
  store: Store;
  /** One more handle on the same data, as another process would have it. A store without such a thing gives itself. */
  another(): Promise<Store> | Store;
  /** Everything that is stored, as text, to look for secrets. Left out where nothing is stored outside the process. */
  contents?(): Promise<string>;
  /** Closes all handles and removes the data. */
  remove(): Promise<void>;
}

/** One promise of the contract. */
export interface StoreCase {
  name: string;
  run(subject: StoreSubject): Promise<void>;
}

/** Fails unless both are the same JSON (`undefined` included). */
export function same(actual: unknown, expected: unknown, what = "the value"): void {
  const [shown, wanted] = [show(actual), show(expected)];
  if (shown !== wanted) throw new Error(`${what} is ${shown}, expected was ${wanted}`);
}

/** Fails unless it is so. */
export function that(isSo: boolean, what: string): void {
  if (!isSo) throw new Error(`It is not so that ${what}`);
}

/** The error that the promise rejects with. */
export async function failureOf(promise: Promise<unknown>): Promise<{ name?: string; code?: string }> {
  try {
    await promise;
  } catch (error) {
    return error as { name?: string; code?: string };
  }
  throw new Error("Expected a failure");
}

/** Polls until there is something truthy. */
export async function until<T>(look: () => T | Promise<T>, what: string): Promise<NonNullable<T>> {
  const deadline = Date.now() + 5_000;
  for (;;) {
    const found = await look();
    if (found) return found as NonNullable<T>;
    if (Date.now() > deadline) throw new Error(`Waited 5 s until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Objects with their keys in order, cut to a size that can be read. */
function show(value: unknown): string {
  const sorted = (_key: string, part: unknown): unknown =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part;
  const text = JSON.stringify(value, sorted) ?? "undefined";
  return text.length > 500 ? `${text.slice(0, 400)}… (${text.length} characters, sum ${sum(text)})` : text;
}

const sum = (text: string): number => {
  let total = 0;
  for (let index = 0; index < text.length; index++) total = (total * 31 + text.charCodeAt(index)) | 0;
  return total;
};
