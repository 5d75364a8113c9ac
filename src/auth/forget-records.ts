/** Deletes the credentials of a server that was removed. Nothing is revoked: `logOut()` does that. */
import type { Store } from "../state/store.js";
import { keysByAddress, loginKey, type Owner, pendingKey, proofKeyKey, tokensKey } from "./record-keys.js";

export async function forgetRecords(store: Store, owner: Owner): Promise<void> {
  // A login that is under way must not end with tokens for a server that is gone.
  const login = (await store.get(loginKey(owner)).catch(() => undefined))?.value;
  const { stateHash } = (login ?? {}) as { stateHash?: unknown };
  if (typeof stateHash === "string") await store.delete(pendingKey(stateHash));
  for (const key of [loginKey(owner), tokensKey(owner), proofKeyKey(owner)]) await store.delete(key);
}

/** Deletes what version 0.1 kept of the same by address. */
export async function forgetByAddress(
  store: Store,
  principal: string | undefined,
  url: string,
): Promise<void> {
  const { tokens, proofKey } = keysByAddress(principal, url);
  await store.delete(tokens);
  await store.delete(proofKey);
}
