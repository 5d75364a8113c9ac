/** The subject of the store contract, and its assertions. Without Vitest and Node, because it also runs inside workerd. */
import type { Store } from "../../packages/stores/src/store.js";

/** A fresh, empty store. */
export interface StoreSubject {
  store: Store;
  /** One more handle on the same data, like that of another process. A store without handles returns itself. */
  another(): Promise<Store> | Store;
  /** Everything that is stored, as text, to search for secrets. Omitted if nothing is stored outside the process. */
  contents?(): Promise<string>;
  /** Closes all handles and removes the data. */
  remove(): Promise<void>;
}

/** One case of the contract. */
export interface StoreCase {
  name: string;
  run(subject: StoreSubject): Promise<void>;
}

/** Fails unless both are the same JSON (`undefined` included). */
export function same(actual: unknown, expected: unknown, what = "the value"): void {
  const [shown, wanted] = [show(actual), show(expected)];
  if (shown !== wanted) throw new Error(`${what} is ${shown}, expected was ${wanted}`);
}

/** Fails unless the condition holds. */
export function that(isSo: boolean, what: string): void {
  if (!isSo) throw new Error(`Expected: ${what}`);
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

/** JSON with sorted keys, truncated to a readable size. */
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
