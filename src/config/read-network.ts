/** Readers for the network options of a port or a server: its proxy and its limit of sockets. */
import { canParseUrl } from "../util/text.js";
import type { EntryReader } from "./entry-reader.js";
import { readSize } from "./option-table.js";
import { SecretValue } from "./secret-record.js";
import type { ProxyOption } from "./server-entry.js";

/** Wrapped, because the address of a proxy may contain a password. */
export type ProxyConfig = SecretValue<ProxyOption>;

/** The network options of a port or a server; undefined if an option is not set. */
export interface NetworkConfig {
  readonly proxy?: ProxyConfig | undefined;
  readonly maxSockets?: number | undefined;
}

const SHAPE = '"env", false, or the address of a proxy such as http://proxy.example:3128';

export function readProxy(reader: EntryReader): ProxyConfig | undefined {
  const value = reader.raw("proxy");
  if (value === undefined) return undefined;
  if (value === false || value === "env") return new SecretValue<ProxyOption>(value);
  const text = value instanceof URL ? value.href : value;
  // The message does not show the value: it may contain a password.
  if (typeof text !== "string" || !canParseUrl(text)) return reader.report("proxy", `must be ${SHAPE}`);
  const { protocol } = new URL(text);
  if (protocol.startsWith("socks"))
    return reader.report("proxy", "is a SOCKS proxy, which is not supported; use an HTTP proxy (http://…)");
  if (protocol !== "http:" && protocol !== "https:") return reader.report("proxy", `must be ${SHAPE}`);
  return new SecretValue<ProxyOption>(text);
}

export const readMaxSockets = readSize;
