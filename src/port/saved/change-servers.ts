/** Servers that go, or change, at run time: removed by the program, or saved and removed by another process. */

import { clientPrefixes, deleteCredentials, deleteLegacyCredentials } from "../../auth/credential-records.js";
import { configIdentity, identifyUrl } from "../../config/config-identity.js";
import type { ServerConfig } from "../../config/server-config.js";
import type { ConnectionPool } from "../../connection/connection-pool.js";
import { toToolportError } from "../../errors/to-toolport-error.js";
import { eraKey } from "../../protocol/era-memory.js";
import { serverIdentity, serverKey, userPrefix } from "../../state/server-keys.js";
import type { Store } from "../../state/store.js";
import type { SharedParts } from "../shared-parts.js";
import { ownKeyOfEarlier, publicKey } from "./saved-catalogs.js";

/** The part of a port that changes of its servers need. */
export interface ServerHost {
  readonly parts: SharedParts;
  readonly principal: { readonly name: string } | undefined;
  readonly pool: ConnectionPool;
  readonly saved: SavedRecords | undefined;
  /** All ports, this one included. */
  all(): readonly ServerHost[];
  /** The ports that get their servers from this one. */
  others(): readonly ServerHost[];
  configs(): readonly ServerConfig[];
  /** True if the server came from the store and the program has not named it since. */
  isRestored(name: string): boolean;
  restore(config: ServerConfig): void;
  remove(name: string): Promise<void>;
}

interface SavedRecords {
  readonly restored: Promise<void>;
  restoreLists(configs: readonly ServerConfig[]): Promise<void>;
  forgetEntry(name: string): Promise<void>;
  forgetLists(config: ServerConfig): Promise<void>;
}

/** Removes a server for everyone who has it from this port, and deletes its records unless they are to be kept. */
export async function removeServer(
  port: ServerHost,
  name: string,
  { keepState = false }: { keepState?: boolean | undefined } = {},
): Promise<void> {
  const { config } = port.pool.require(name);
  const ports = portsWith(port, config);
  await Promise.all(ports.map((each) => each.remove(name)));
  await port.saved?.forgetEntry(name);
  if (keepState) return;
  await Promise.all(ports.map((each) => each.saved?.forgetLists(config)));
  const { settings, publicLists, warn } = port.parts;
  const isLast = !port.all().some((each) => each.configs().some((other) => isSame(other, config)));
  if (isLast) publicLists.forget(config);
  const of = port.principal === undefined ? "everyone" : { principal: port.principal.name };
  try {
    await forgetServer(settings.store, { config, of, isLast });
  } catch (error) {
    warn(name, `Records of the removed server could not be deleted: ${toToolportError(error).message}`);
  }
}

/**
 * Another process saved (`config`) or removed a server that was added at run time.
 *
 * @returns the ports that have a new server of this name now
 */
export async function followServer(
  port: ServerHost,
  name: string,
  config: ServerConfig | undefined,
): Promise<readonly ServerHost[]> {
  const known = port.pool.get(name)?.config;
  // What the program said of the same server comes before what another one saved of it.
  const isNamedHere = known !== undefined && !port.isRestored(name);
  if (isNamedHere && config !== undefined && isSame(known, config)) return [];
  const ports =
    known === undefined
      ? [port, ...port.others()].filter((each) => each.pool.get(name) === undefined)
      : portsWith(port, known);
  await Promise.all(ports.map((each) => each.remove(name)));
  if (config === undefined) return [];
  for (const each of ports) each.restore(config);
  return ports;
}

/** This port, and those of users who have the same server from it. They may have others of the same name. */
function portsWith(port: ServerHost, config: ServerConfig): ServerHost[] {
  const hasIt = (each: ServerHost) => {
    const there = each.pool.get(config.name)?.config;
    return there !== undefined && isSame(there, config);
  };
  return [port, ...port.others().filter(hasIt)];
}

const isSame = (one: ServerConfig, other: ServerConfig): boolean =>
  configIdentity(one) === configIdentity(other);

interface ForgottenServer {
  readonly config: ServerConfig;
  /** Whose records; "everyone": those of the plain port and of all users. */
  readonly of: { readonly principal: string | undefined } | "everyone";
  /** No other entry leads to the same place: what is kept for all of them goes too. */
  readonly isLast: boolean;
}

/** Records that are kept by user and identity, logins and tasks apart. */
const KINDS = ["catalog", "discover", "pins"];

/**
 * Deletes the lists, pins, tasks and logins of a server, and what is known of its era. The record of a server that was
 * added at run time is deleted by `SavedServers`, in the same step as its entry.
 */
async function forgetServer(store: Store, forgotten: ForgottenServer): Promise<void> {
  const { config, of, isLast } = forgotten;
  for (const principal of of === "everyone" ? await principalsOf(store, config) : [of.principal])
    await forgetOf(store, principal, forgotten);
  if (!isLast) return;
  await store.delete(eraKey(config));
  await store.delete(publicKey(config));
  if (of === "everyone" && "url" in config) await forgetClients(store, config.url);
}

async function forgetOf(
  store: Store,
  principal: string | undefined,
  { config, isLast }: ForgottenServer,
): Promise<void> {
  await deleteCredentials(store, { principal, identity: serverIdentity(config) });
  for (const kind of KINDS) await store.delete(serverKey(kind, principal, config));
  const tasks = `${serverKey("tasks", principal, config)}/`;
  // A server with a longer address has its tasks in a folder below.
  for (const key of await store.list(tasks))
    if (!key.slice(tasks.length).includes("/")) await store.delete(key);
  // Where version 0.1 kept the same.
  await store.delete(`${userPrefix("pins", principal)}${encodeURIComponent(config.name)}`);
  if (!isLast) return;
  const identity = configIdentity(config);
  await store.delete(ownKeyOfEarlier(principal, config));
  await store.delete(`${userPrefix("era", principal)}${identity}`);
  for (const key of await store.list(`${userPrefix("tasks", principal)}${encodeURIComponent(identity)}/`))
    await store.delete(key);
  if ("url" in config) await deleteLegacyCredentials(store, principal, config.url);
}

/** Every user who has something of this server, and the plain port. */
async function principalsOf(store: Store, config: ServerConfig): Promise<(string | undefined)[]> {
  const found = new Set<string>([""]);
  const identity = `/${serverIdentity(config)}`;
  for (const kind of [...KINDS, "tasks", "oauth/tokens", "oauth/login"]) {
    for (const key of await store.list(`${kind}/`)) {
      const principal = key.slice(kind.length + 1, key.indexOf("/", kind.length + 1));
      const rest = key.slice(kind.length + 1 + principal.length);
      if (rest === identity || rest.startsWith(`${identity}/`)) found.add(decodeURIComponent(principal));
    }
  }
  return [...found].map((principal) => (principal === "" ? undefined : principal));
}

/** What this application is at the authorization servers of an address. */
async function forgetClients(store: Store, url: string): Promise<void> {
  for (const prefix of clientPrefixes)
    for (const key of await store.list(prefix))
      if (key.endsWith(`/${identifyUrl(url)}`)) await store.delete(key);
}
