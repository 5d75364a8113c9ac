/** Turns the address of a server, with its variables and headers, into an entry. */
import type { HttpServerEntry } from "../config/server-entry.js";
import type { InputDesk } from "./input-desk.js";
import type { ServerInput, ServerRemote } from "./server-json.js";

/** What else an address may refer to: the arguments and variables of the package that listens there. */
export type KnownValues = ReadonlyMap<string, string>;

/**
 * Only at the beginning a value may be an address of its own; anywhere else a slash or an `@` in it would lead to another
 * host than the publisher's. A colon may stand before a port.
 */
const encodeAt = (text: string, at: number): string =>
  at === 0 ? text.replace(/\/+$/, "") : encodeURIComponent(text).replaceAll("%3A", ":");

/** The entry; it may only be used if nothing is missing at the desk. */
export function toRemoteEntry(
  remote: ServerRemote,
  desk: InputDesk,
  known: KnownValues = new Map(),
): HttpServerEntry {
  const fixed: Record<string, ServerInput> = Object.fromEntries(
    [...known].map(([name, value]) => [name, { value }]),
  );
  const variables = { ...fixed, ...remote.variables };
  // A part of an address cannot be left out, so every variable of it is required.
  const required = Object.fromEntries(
    Object.entries(variables).map(([name, input]) => [name, { ...input, isRequired: true }]),
  );
  const [url = remote.url] =
    desk.fill(remote.url, required, { where: "url", isRequired: true, encode: encodeAt }) ?? [];
  const headers: Record<string, string> = {};
  for (const header of remote.headers) {
    const input = { ...header, variables: { ...variables, ...header.variables } };
    const use = { where: "header", isRequired: header.isRequired ?? false } as const;
    const [value] = desk.resolve(header.name, input, use) ?? [];
    if (value !== undefined) headers[header.name] = value;
  }
  return { transport: remote.type, url, ...(Object.keys(headers).length > 0 ? { headers } : {}) };
}
