/** What code above a port uses of it beyond its public methods. Not part of the public API. */

import type { ToolInfo } from "@toolport/base";
import type { Store } from "@toolport/stores";
import type { Artifacts } from "../execution/artifacts/artifact-store.js";
import type { Users } from "./users.js";

/** Wrappers around a Toolport have one, too, if they keep artifacts. */
export interface PortAccess {
  /** Texts of results that were too large for a model. Undefined for a wrapper around another object. */
  readonly artifacts: Artifacts | undefined;
  /** The tools that the port itself offers to models, such as `read_resource`. Here, because `tools()` waits for servers. */
  readonly ownTools: readonly ToolInfo[];
  /** Undefined for a wrapper: it may send calls elsewhere, where the records are not. */
  readonly state?: PortState | undefined;
  /** All users. Only the object that `createToolport()` returned has them. */
  readonly users?: Users | undefined;
}

/** The store of a port, for the records of one user. */
export interface PortState {
  readonly store: Store;
  /** Undefined outside `as(principal)`. */
  readonly principal: string | undefined;
  /** Deletes the saved outcomes of calls with these keys. */
  forgetCalls(keys: readonly string[]): Promise<void>;
}

// A registered symbol, because CommonJS bundles contain several copies of this module.
const KEY = Symbol.for("toolport.port");

/** Undefined for an object that is not of `createToolport`, nor a wrapper of ours. */
export const portOf = (toolport: object): PortAccess | undefined =>
  (toolport as { readonly [KEY]?: PortAccess } | null | undefined)?.[KEY];

/** Not enumerable: a wrapper that copies the methods may send calls elsewhere, where the artifacts and records are not. */
export const givePort = <Methods extends object>(methods: Methods, access: PortAccess): Methods =>
  Object.defineProperty(methods, KEY, { value: access });
