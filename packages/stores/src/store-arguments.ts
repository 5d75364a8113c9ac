/** Checks what a program passes to a function that creates a store. */

import { ConfigIssues, canParseUrl, EntryReader, isRecord, type Option } from "@toolport/base";
import { createKeyRing, createSealer, keylessSealer, type Sealer, type StoreKey } from "./sealing.js";

interface StoreArguments {
  /** The function, for messages: `redisStore()`. */
  readonly of: string;
  /** What is wrong with the first argument. */
  readonly problem: string | undefined;
  readonly options: unknown;
  /** How each option is read. */
  readonly table: Readonly<Record<string, Option<unknown>["read"]>>;
}

/** @throws ConfigError with every problem; it contains no value, which may be a password */
export function checkStoreArguments({ of, problem, options, table }: StoreArguments): void {
  const issues = new ConfigIssues(of);
  if (problem !== undefined) issues.add([], problem);
  if (isRecord(options)) {
    const reader = new EntryReader(options, [], issues);
    reader.rejectUnknown(Object.keys(table));
    for (const [key, read] of Object.entries(table)) read(reader, key);
  } else issues.add([], "options must be an object");
  issues.throwIfAny();
}

const ADDRESS_FIELDS = ["url", "uri", "connectionString", "path", "file", "filename"];

/** The problem of a first argument that is not `expected`. */
export function needs(expected: string, value: unknown): string {
  const field = isRecord(value) ? ADDRESS_FIELDS.find((key) => typeof value[key] === "string") : undefined;
  if (field !== undefined) return `needs ${expected}: pass the text in \`${field}\` itself`;
  return `needs ${expected}${value === undefined ? ", and got undefined" : ""}`;
}

/** True for an object with these methods, of its own or of its class. */
export const hasMethods = (value: unknown, methods: readonly string[]): value is Record<string, unknown> =>
  isRecord(value) && methods.every((method) => typeof value[method] === "function");

/** Whether a text is a URL with one of these schemes, such as `redis:`. */
export const hasScheme = (url: string, schemes: readonly string[]): boolean =>
  canParseUrl(url) && schemes.includes(new URL(url).protocol);

/** Environment variable with one key, or several separated by commas: the first seals, all of them open. */
export const KEY_VARIABLE = "TOOLPORT_STORE_KEY";

/** One key, or several of which the first seals. */
export type StoreKeys = StoreKey | readonly StoreKey[];

/** The keys given as an option, else those of the environment, else undefined. */
export function configuredKeys(key: StoreKeys | undefined): StoreKeys | undefined {
  if (key !== undefined) return key;
  return process.env[KEY_VARIABLE]?.replace(/[\s,]+$/, "") || undefined;
}

/** For a database that several machines share: the key has to be configured, because no process can generate one for all of them. */
export function configuredSealer(key: StoreKeys | undefined): Sealer {
  const keys = configuredKeys(key);
  if (keys !== undefined) return createSealer(() => createKeyRing(keys));
  return keylessSealer(
    `Set the same key for all processes: the option \`key\`, or ${KEY_VARIABLE} (for instance from \`openssl rand -base64 32\`)`,
  );
}
