/** Which scopes are asked for. */

export interface ScopeSources {
  /** What the server's refusal asks for. */
  readonly challenge?: string | undefined;
  /** What the user configured. */
  readonly configured?: readonly string[] | string | undefined;
  /** What the server says may be asked for. */
  readonly supported?: readonly string[] | undefined;
  /** What was asked for and granted before; kept when more is asked for. */
  readonly previous?: string | undefined;
  /** What the authorization server lists. */
  readonly listed?: readonly string[] | undefined;
  /** A user who is away later is meant to stay logged in. */
  readonly wantsRefresh?: boolean;
}

const OFFLINE = "offline_access";

const words = (scopes: readonly string[] | string | undefined): string[] =>
  (typeof scopes === "string" ? scopes.split(/\s+/) : [...(scopes ?? [])]).filter((word) => word !== "");

/** The scopes as they go into a request; undefined for none. */
export function chooseScope(sources: ScopeSources): string | undefined {
  const { configured, listed, wantsRefresh = false } = sources;
  const asked = [...words(sources.challenge), ...words(configured)];
  const chosen = new Set([
    ...words(sources.previous),
    ...(asked.length > 0 ? asked : words(sources.supported)),
  ]);
  // Only where it is listed. A user who wrote it down by hand knows better than a list that is missing.
  const mayBeOffline = listed?.includes(OFFLINE) ?? words(configured).includes(OFFLINE);
  if (!mayBeOffline) chosen.delete(OFFLINE);
  else if (wantsRefresh && chosen.size > 0) chosen.add(OFFLINE);
  return chosen.size === 0 ? undefined : [...chosen].join(" ");
}

/** The scopes of all, each once. */
export function uniteScopes(...scopes: readonly (string | undefined)[]): string | undefined {
  const united = new Set(scopes.flatMap(words));
  return united.size === 0 ? undefined : [...united].join(" ");
}

/** `wanted` has something that was neither granted nor asked for before. That a token can be refreshed is no right. */
export function exceedsScope(wanted: string | undefined, before: string | undefined): boolean {
  const had = new Set([...words(before), OFFLINE]);
  return words(wanted).some((word) => !had.has(word));
}
