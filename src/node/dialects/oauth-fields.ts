/** Translates the OAuth fields of dialects to Toolport's options. */

import { canParseUrl } from "../../util/can-parse-url.js";
import { isRecord } from "../../util/is-record.js";
import type { EntryFields } from "./entry-fields.js";

/** Spellings of each field, by Toolport's name. */
const SPELLINGS: Readonly<Record<string, readonly string[]>> = {
  clientId: ["clientId", "client_id", "CLIENT_ID"],
  clientSecret: ["clientSecret", "client_secret", "CLIENT_SECRET"],
  scopes: ["scopes", "scope"],
  redirectUrl: ["redirectUrl", "redirectUri", "redirect_uri"],
  clientName: ["clientName", "client_name"],
  issuer: ["issuer"],
};

const KNOWN = new Set([
  ...Object.values(SPELLINGS).flat(),
  ...["enabled", "callbackPort", "authServerMetadataUrl"],
]);

/** Moves the object at `key` to `oauth`, for entries with a URL only. */
export function moveOAuth(fields: EntryFields, key: string): void {
  if (!fields.has(key) || fields.entry["url"] === undefined) return;
  const given = fields.take(key);
  if (typeof given === "boolean") return fields.put("oauth", given, [key]);
  if (!isRecord(given)) return fields.problem([key], "must be an object");
  if (given["enabled"] === false) return fields.put("oauth", false, [key]);
  const oauth: Record<string, unknown> = {};
  for (const [name, spellings] of Object.entries(SPELLINGS)) {
    const found = spellings.find((spelling) => isGiven(given, spelling));
    if (found !== undefined) oauth[name] = given[found];
  }
  readCallbackPort(fields, given, { key, oauth });
  readMetadataUrl(fields, given, { key, oauth });
  for (const name of Object.keys(given)) {
    if (isGiven(given, name) && !KNOWN.has(name)) {
      fields.warn([key, name], "is not used; the server provides its authorization metadata");
    }
  }
  fields.put("oauth", oauth, [key]);
}

interface Target {
  readonly key: string;
  readonly oauth: Record<string, unknown>;
}

const isGiven = (given: Readonly<Record<string, unknown>>, name: string): boolean =>
  Object.hasOwn(given, name) && given[name] !== null && given[name] !== undefined;

function readCallbackPort(
  fields: EntryFields,
  given: Readonly<Record<string, unknown>>,
  target: Target,
): void {
  const port = given["callbackPort"];
  if (port === undefined || port === null) return;
  if (typeof port !== "number" || !Number.isInteger(port) || port < 1 || port > 65_535) {
    fields.problem([target.key, "callbackPort"], "must be a port between 1 and 65535");
  } else target.oauth["redirectUrl"] ??= `http://localhost:${port}/callback`;
}

const WELL_KNOWN = /^\/\.well-known\/(?:oauth-authorization-server|openid-configuration)/;

/** Derives the issuer from the metadata URL. Toolport then discovers the metadata of the issuer. */
function readMetadataUrl(
  fields: EntryFields,
  given: Readonly<Record<string, unknown>>,
  target: Target,
): void {
  const text = given["authServerMetadataUrl"];
  if (text === undefined || text === null) return;
  const url = typeof text === "string" && canParseUrl(text) ? new URL(text) : undefined;
  if (url !== undefined && WELL_KNOWN.test(url.pathname)) {
    const path = url.pathname.replace(WELL_KNOWN, "").replace(/\/+$/, "");
    target.oauth["issuer"] ??= `${url.origin}${path}`;
  } else {
    fields.warn(
      [target.key, "authServerMetadataUrl"],
      "does not identify an issuer; the metadata is discovered automatically",
    );
  }
}
