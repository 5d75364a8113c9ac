/** The property of a Toolport under which code mode finds where its user's records are saved. */
import type { Store } from "../state/store.js";

// A registered symbol, because CommonJS bundles contain several copies of this module.
const STATE_KEY = Symbol.for("toolport.state");

/** The store of a port, for the records of one user. */
export interface PortState {
  readonly store: Store;
  /** Undefined outside `as(principal)`. */
  readonly principal: string | undefined;
  /** Deletes the saved outcomes of calls with these keys. */
  forgetCalls(keys: readonly string[]): Promise<void>;
}

/** Not enumerable: a wrapper that copies the methods may send calls elsewhere, where the records are not. */
export function giveState<Methods extends object>(methods: Methods, state: PortState): Methods {
  return Object.defineProperty(methods, STATE_KEY, { value: state });
}

/** Undefined for an object that is not of `createToolport`. */
export const stateOf = (toolport: object): PortState | undefined =>
  (toolport as { readonly [STATE_KEY]?: PortState })[STATE_KEY];
