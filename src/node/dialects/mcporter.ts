/** mcporter: `mcporter.json`, which may import files of other programs. */
import type { Dialect } from "./dialect.js";
import { EntryFields } from "./entry-fields.js";
import {
  moveAddress,
  moveCommand,
  moveEnabled,
  moveProcess,
  moveToolFilters,
  moveType,
} from "./shared-fields.js";

/** The snake_case spelling of a name. */
const snake = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const takeEither = (fields: EntryFields, key: string): unknown => fields.take(key) ?? fields.take(snake(key));

const BOTH = (keys: readonly string[]): string[] => keys.flatMap((key) => [key, snake(key)]);

export const mcporter: Dialect = {
  kind: "mcporter",
  title: "mcporter",
  containers: [["mcpServers"]],
  entryMarkers: BOTH(["baseUrl", "bearerTokenEnv", "tokenCacheDir", "lifecycle", "executable"]),
  rootMarkers: ["imports"],
  readEntry: (raw) => {
    const fields = new EntryFields(raw);
    moveType(fields);
    if (!fields.has("command")) moveCommand(fields, "executable");
    moveProcess(fields);
    moveAddress(fields);
    moveEnabled(fields);
    moveToolFilters(fields);
    moveBearer(fields);
    moveLogin(fields);
    return fields.finish({
      title: "mcporter",
      quiet: ["description", "lifecycle", "logging", ...BOTH(["tokenCacheDir"])],
      unsupported: {
        oauthCommand: "names a login program, which Toolport does not run",
        oauth_command: "names a login program, which Toolport does not run",
      },
    });
  },
};

function moveBearer(fields: EntryFields): void {
  const token = takeEither(fields, "bearerToken");
  const variable = takeEither(fields, "bearerTokenEnv");
  if (typeof token === "string") {
    fields.addTo("headers", "Authorization", { value: `Bearer ${token}`, origin: ["bearerToken"] });
  } else if (typeof variable === "string") {
    fields.addTo("headers", "Authorization", { value: `Bearer \${${variable}}`, origin: ["bearerTokenEnv"] });
  }
}

function moveLogin(fields: EntryFields): void {
  const auth = fields.take("auth");
  const oauth = Object.entries({
    clientName: takeEither(fields, "clientName"),
    redirectUrl: takeEither(fields, "oauthRedirectUrl"),
    scopes: takeEither(fields, "oauthScope"),
    clientId: takeEither(fields, "oauthClientId"),
    clientSecret: takeEither(fields, "oauthClientSecret"),
  }).filter(([, value]) => value !== undefined);
  if (fields.entry["url"] === undefined) return;
  if (oauth.length > 0) fields.put("oauth", Object.fromEntries(oauth), ["auth"]);
  else if (auth === "oauth") fields.put("oauth", true, ["auth"]);
}
