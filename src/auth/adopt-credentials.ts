/** Takes over credentials that version 0.1 kept by address, where it is clear whose they are. */
import type { OAuthContext } from "./oauth-context.js";
import { keysByAddress, proofKeyKey, tokensKey } from "./record-keys.js";

/** Moves them to the keys of this server; true if there were some. */
export async function adoptCredentials(context: OAuthContext): Promise<boolean> {
  const { store, principal, serverUrl, ownsAddress } = context;
  if (ownsAddress === undefined || !(await ownsAddress())) return false;
  const old = keysByAddress(principal, serverUrl);
  const tokens = await store.get(old.tokens);
  // Records that are not sealed may have been written by anyone with access to the database.
  if (tokens === undefined || !tokens.sealed) return false;
  // The key comes first: tokens that are bound to it are of no use without it.
  const proofKey = await store.get(old.proofKey);
  if (proofKey?.sealed === true)
    await store.put(proofKeyKey(context), proofKey.value, { ifVersion: 0, secret: true });
  await store.put(tokensKey(context), tokens.value, { ifVersion: 0, secret: true });
  await store.delete(old.tokens, { ifVersion: tokens.version });
  if (proofKey !== undefined) await store.delete(old.proofKey, { ifVersion: proofKey.version });
  return true;
}
