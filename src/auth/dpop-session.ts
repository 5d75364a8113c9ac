/** The DPoP key that tokens are bound to: created once for a server and a user, and saved in the store. */

import type { webcrypto } from "node:crypto";
import type { DpopKeyPair, DpopSession } from "@modelcontextprotocol/client";
import type { Store } from "../state/store.js";
import { authFailed } from "./auth-errors.js";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256" };

/** Opens the SDK's DPoP session with the key saved under `storeKey`. Creates the key if it is missing. */
export async function openDpopSession(store: Store, storeKey: string): Promise<DpopSession> {
  const { DpopSession } = await import("@modelcontextprotocol/client");
  const saved = (await readKey(store, storeKey)) ?? (await makeKey(store, storeKey));
  return DpopSession.create({ keyPair: await toKeyPair(saved) });
}

async function readKey(store: Store, storeKey: string): Promise<webcrypto.JsonWebKey | undefined> {
  const found = await store.get(storeKey);
  return found?.sealed === true ? (found.value as webcrypto.JsonWebKey) : undefined;
}

async function makeKey(store: Store, storeKey: string): Promise<webcrypto.JsonWebKey> {
  const pair = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const made = await crypto.subtle.exportKey("jwk", pair.privateKey);
  await store.put(storeKey, made, { ifVersion: 0, secret: true });
  // Another process may have saved a key first; use that one.
  const kept = await readKey(store, storeKey);
  if (kept === undefined) throw authFailed("The DPoP key could not be saved", "Check the store");
  return kept;
}

async function toKeyPair(jwk: webcrypto.JsonWebKey): Promise<DpopKeyPair> {
  const { kty, crv, x, y } = jwk;
  const publicJwk = { kty, crv, x, y } as DpopKeyPair["publicJwk"];
  const [privateKey, publicKey] = await Promise.all([
    crypto.subtle.importKey("jwk", jwk, ALGORITHM, false, ["sign"]),
    crypto.subtle.importKey("jwk", { kty, crv, x, y }, ALGORITHM, true, ["verify"]),
  ]);
  // RFC 7638: the members sorted by name.
  const thumbprint = base64Url(await sha256(JSON.stringify({ crv, kty, x, y })));
  return { privateKey, publicKey, publicJwk, thumbprint, alg: "ES256" };
}

export async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

export const base64Url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
