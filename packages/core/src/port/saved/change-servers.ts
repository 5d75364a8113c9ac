/** Removes and changes servers at run time, for the program and for other processes that share the store. */

import { toToolportError } from "@toolport/base";
import type { Store } from "@toolport/stores";
import { clientPrefixes, deleteCredentials } from "../../auth/credential-records.js";
import { configIdentity, identifyUrl, type ServerConfig } from "../../config/server-config.js";
import { serverIdentity, serverKey } from "../../config/server-keys.js";
import { eraKey } from "../../protocol/era.js";
import type { PortCore } from "../port-core.js";
import { SuspensionRecords } from "../suspensions/suspension-records.js";
import { publicKey } from "./saved-catalogs.js";
import { SavedServers } from "./saved-servers.js";

/** Removes a server from this port and the ports that got it from there, and deletes its records unless `keepState` is set. */
export async function removeServer(
  port: PortCore,
  name: string,
  { keepState = false }: { keepState?: boolean | undefined } = {},
): Promise<void> {
  const { config } = port.pool.require(name);
  const ports = portsWith(port, config);
  await Promise.all(ports.map((each) => each.remove(name)));
  await (await port.saved?.state)?.forgetEntry(name);
  if (keepState) return;
  await Promise.all(ports.map((each) => each.saved?.state.then((state) => state?.forgetLists(config))));
  const { settings, publicLists, warn } = port.parts;
  const isLast = !port.all().some((each) => each.configs().some((other) => isSame(other, config)));
  if (isLast) publicLists.forget(config);
  const of = port.principal === undefined ? "everyone" : { principal: port.principal.name };
  try {
    await forgetServer(settings.store, { config, of, isLast, warn });
  } catch (error) {
    warn(name, `Records of the removed server could not be deleted: ${toToolportError(error).message}`);
  }
}

/**
 * Applies a change of another process: it saved (`config`) or removed a server that was added at run time.
 *
 * @returns the ports that now have a new server of this name
 */
export async function followServer(
  port: PortCore,
  name: string,
  config: ServerConfig | undefined,
): Promise<readonly PortCore[]> {
  const known = port.pool.configOf(name);
  // The configuration of the program takes precedence over the saved one.
  const isNamedHere = known !== undefined && !port.isRestored(name);
  if (isNamedHere && config !== undefined && isSame(known, config)) return [];
  const ports =
    known === undefined
      ? [port, ...port.others()].filter((each) => each.pool.configOf(name) === undefined)
      : portsWith(port, known);
  if (known !== undefined) await Promise.all(ports.map((each) => each.remove(name)));
  if (config === undefined) return [];
  for (const each of ports) each.restore(config);
  return ports;
}

/** This port, and the ports of users that have the same server. Other servers of the same name do not count. */
function portsWith(port: PortCore, config: ServerConfig): PortCore[] {
  const hasIt = (each: PortCore) => {
    const there = each.pool.configOf(config.name);
    return there !== undefined && isSame(there, config);
  };
  return [port, ...port.others().filter(hasIt)];
}

const isSame = (one: ServerConfig, other: ServerConfig): boolean =>
  configIdentity(one) === configIdentity(other);

interface ForgottenServer {
  readonly config: ServerConfig;
  /** Whose records to delete; "everyone": those of the plain port and of all users. */
  readonly of: { readonly principal: string | undefined } | "everyone";
  /** No other entry has the same target, so shared records are deleted as well. */
  readonly isLast: boolean;
  readonly warn: (server: string, message: string) => void;
}

/** Kinds of records by user and identity, except logins and tasks. */
const KINDS = ["catalog", "discover", "pins"];

/**
 * Deletes the lists, pins, tasks, suspended calls, logins and the remembered era of a server, and the records of users who added
 * it at run time. The record of the port that removes it is deleted together with its entry.
 */
async function forgetServer(store: Store, forgotten: ForgottenServer): Promise<void> {
  const { config, of, isLast } = forgotten;
  for (const principal of of === "everyone" ? await principalsOf(store, config) : [of.principal])
    await forgetOf(store, principal, forgotten);
  if (!isLast) return;
  await store.delete(eraKey(config));
  await store.delete(publicKey(config));
  if ("url" in config) await forgetClients(store, config.url);
}

async function forgetOf(
  store: Store,
  principal: string | undefined,
  { config, of, warn }: ForgottenServer,
): Promise<void> {
  if (of === "everyone") await new SavedServers(store, principal, warn).forgetSame(config);
  await new SuspensionRecords(store, principal).forgetServer(serverIdentity(config));
  await deleteCredentials(store, { principal, identity: serverIdentity(config) });
  for (const kind of KINDS) await store.delete(serverKey(kind, principal, config));
  const tasks = `${serverKey("tasks", principal, config)}/`;
  // Keys below a further slash belong to a server with a longer URL.
  for (const key of await store.list(tasks))
    if (!key.slice(tasks.length).includes("/")) await store.delete(key);
}

/** The plain port and every user with records of this server. */
async function principalsOf(store: Store, config: ServerConfig): Promise<(string | undefined)[]> {
  const found = new Set<string>([""]);
  const identity = `/${serverIdentity(config)}`;
  const name = `/${encodeURIComponent(config.name)}`;
  for (const kind of [...KINDS, "tasks", "oauth/tokens", "oauth/login", "servers", "suspended"]) {
    for (const key of await store.list(`${kind}/`)) {
      const principal = key.slice(kind.length + 1, key.indexOf("/", kind.length + 1));
      const rest = key.slice(kind.length + 1 + principal.length);
      const isOfServer = rest === identity || rest.startsWith(`${identity}/`);
      // The keys of suspended calls do not contain the server.
      if (isOfServer || kind === "suspended" || (kind === "servers" && rest === name))
        found.add(decodeURIComponent(principal));
    }
  }
  return [...found].map((principal) => (principal === "" ? undefined : principal));
}

/** Deletes the OAuth client registrations for a URL, unless another user or entry has a login there. */
async function forgetClients(store: Store, url: string): Promise<void> {
  for (const kind of ["oauth/tokens/", "oauth/login/"])
    if ((await store.list(kind)).some((key) => key.endsWith(identifyUrl(url)))) return;
  for (const prefix of clientPrefixes)
    for (const key of await store.list(prefix))
      if (key.endsWith(`/${identifyUrl(url)}`)) await store.delete(key);
}
