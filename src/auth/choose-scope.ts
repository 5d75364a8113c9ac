/** Chooses the scopes to request. */

export interface ScopeSources {
  /** From the challenge in the server's 401 or 403 response. */
  readonly challenge?: string | undefined;
  /** From the configuration. */
  readonly configured?: readonly string[] | string | undefined;
  /** From the protected resource metadata. */
  readonly supported?: readonly string[] | undefined;
  /** Requested or granted before; they are requested again together with new ones. */
  readonly previous?: string | undefined;
  /** From the authorization server's metadata. */
  readonly listed?: readonly string[] | undefined;
  /** Request `offline_access`, so that the authorization server issues a refresh token. */
  readonly wantsRefresh?: boolean;
}

const OFFLINE = "offline_access";

const words = (scopes: readonly string[] | string | undefined): string[] =>
  (typeof scopes === "string" ? scopes.split(/\s+/) : [...(scopes ?? [])]).filter((word) => word !== "");

/** The `scope` parameter of a request; undefined for none. */
export function chooseScope(sources: ScopeSources): string | undefined {
  const { configured, listed, wantsRefresh = false } = sources;
  const asked = [...words(sources.challenge), ...words(configured)];
  const chosen = new Set([
    ...words(sources.previous),
    ...(asked.length > 0 ? asked : words(sources.supported)),
  ]);
  // Requested only if the authorization server lists it, or if it lists no scopes and the user configured it.
  const mayBeOffline = listed?.includes(OFFLINE) ?? words(configured).includes(OFFLINE);
  if (!mayBeOffline) chosen.delete(OFFLINE);
  else if (wantsRefresh && chosen.size > 0) chosen.add(OFFLINE);
  return chosen.size === 0 ? undefined : [...chosen].join(" ");
}

/** Joins scopes without duplicates. */
export function uniteScopes(...scopes: readonly (string | undefined)[]): string | undefined {
  const united = new Set(scopes.flatMap(words));
  return united.size === 0 ? undefined : [...united].join(" ");
}

/** Whether `wanted` contains a scope that `before` does not. `offline_access` does not count: it grants no access. */
export function exceedsScope(wanted: string | undefined, before: string | undefined): boolean {
  const had = new Set([...words(before), OFFLINE]);
  return words(wanted).some((word) => !had.has(word));
}
