/** Notices logins and servers that other processes stored for users, with one watch for all users of a gateway. */
import { tokensPrefix } from "../../auth/credential-records.js";
import { userPrefix } from "../../state/server-keys.js";
import type { SharedParts } from "../shared-parts.js";
import { userOf, watchKeys } from "../watch-keys.js";

/** The part of a port that this needs. */
interface WatchedPort {
  /** Other ports watch their own records. */
  readonly isLean: boolean;
  readonly saved: { tokensChanged(): void; serverChanged(key: string): void } | undefined;
}

const kindOf = (prefix: string): string => prefix.slice(0, -"/x/".length);
const TOKENS = kindOf(tokensPrefix("x"));
const SERVERS = kindOf(userPrefix("servers", "x"));

/** Returns a function that stops it. */
export function watchUsers(
  parts: SharedParts,
  portOf: (principal: string | undefined) => WatchedPort | undefined,
): () => void {
  const { settings } = parts;
  if (!settings.isSaved) return () => {};
  const savedOf = (kind: string, key: string) => {
    const port = portOf(userOf(kind, key));
    return port?.isLean ? port.saved : undefined;
  };
  const stops = [
    watchKeys(parts, `${TOKENS}/`, (key) => savedOf(TOKENS, key)?.tokensChanged()),
    ...(settings.restore === false
      ? []
      : [watchKeys(parts, `${SERVERS}/`, (key) => savedOf(SERVERS, key)?.serverChanged(key))]),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
