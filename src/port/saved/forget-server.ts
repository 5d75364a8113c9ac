/** Deletes everything that a store keeps of a server which was removed. */
import { clientPrefixes, deleteCredentials, deleteLegacyCredentials } from "../../auth/credential-records.js";
import { configIdentity, identifyUrl } from "../../config/config-identity.js";
import type { ServerConfig } from "../../config/server-config.js";
import { eraKey } from "../../protocol/era-memory.js";
import { serverIdentity, serverKey, userPrefix } from "../../state/server-keys.js";
import type { Store } from "../../state/store.js";
import { ownKeyOfEarlier, publicKey } from "./saved-catalogs.js";

export interface ForgottenServer {
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
export async function forgetServer(store: Store, forgotten: ForgottenServer): Promise<void> {
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
