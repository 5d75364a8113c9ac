/** The script of a model that searches for tools. */

/** One turn of the model: a search, calls, or the final text. A search that the provider runs is followed by the next turn at once. */
export type SearchTurn =
  | { readonly search: string }
  | { readonly call: string; readonly args: Record<string, unknown>; readonly caller?: string }
  | string;

/** A turn that depends on the request. */
export type LiveSearchTurn = SearchTurn | ((request: Body) => SearchTurn);

// biome-ignore lint/suspicious/noExplicitAny: bodies of two APIs, checked by the rules of each
export type Body = any;

/** The rules of one API. */
export interface ApiSide {
  /** Why the API rejects the request; undefined if it accepts it. */
  problem(body: Body): string | undefined;
  /** The response of the model. `next` takes the next turn of the script. */
  respond(body: Body, next: () => SearchTurn): Body;
}

/** The names that contain a word of the query: a search of the provider's own. */
export const namesLike = (query: string, names: readonly string[]): string[] =>
  names.filter((name) => query.split(" ").some((word) => name.includes(word)));
