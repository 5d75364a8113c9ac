/** Takes what a server was entrusted with out of what it says. */
import { redactValues } from "../util/redact-values.js";
import { SecretRecord } from "./secret-record.js";
import type { ServerConfig } from "./server-config.js";

/**
 * A function that replaces the values of the entry's headers and variables in a text by their names, also a token without
 * its scheme. Headers that a function makes anew are not known here.
 */
export function redactSecrets(config: ServerConfig): (text: string) => string {
  const given = [
    "headers" in config && config.headers instanceof SecretRecord ? config.headers.reveal() : {},
    "env" in config ? config.env.reveal() : {},
  ].flatMap((values) => Object.entries(values));
  // A server that takes "Bearer abc" knows "abc".
  const bare = given.flatMap(([name, value]) => {
    const space = value.indexOf(" ");
    return space < 0 ? [] : [[`${name} `, value.slice(space + 1)] as const];
  });
  return redactValues(Object.fromEntries([...given, ...bare]));
}
