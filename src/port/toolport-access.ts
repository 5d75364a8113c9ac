/**
 * The properties of a Toolport under which a gateway finds its ports, adapters find the artifacts of its user and the tools of the
 * port itself, and code mode finds where the records of its user are saved.
 */
import type { Artifacts } from "../execution/artifacts/artifact-store.js";
import type { ToolInfo } from "../model/tool-info.js";
import type { Store } from "../state/store.js";

// Registered symbols, because CommonJS bundles contain several copies of this module.
export const ACCESS_KEY = Symbol.for("toolport.gateway-access");
const STATE_KEY = Symbol.for("toolport.state");
const ARTIFACTS_KEY = Symbol.for("toolport.artifacts");
const OWN_TOOLS_KEY = Symbol.for("toolport.ownTools");

/** Not enumerable: a wrapper that copies the methods may send calls elsewhere, where the artifacts and records are not. */
export function giveArtifacts<Methods extends object>(methods: Methods, artifacts: () => Artifacts): Methods {
  return Object.defineProperty(methods, ARTIFACTS_KEY, { get: artifacts });
}

/** Undefined for an object that is not of `createToolport`. */
export const artifactsOf = (toolport: object): Artifacts | undefined =>
  (toolport as { readonly [ARTIFACTS_KEY]?: Artifacts })[ARTIFACTS_KEY];

/** `ownTools`: for adapters that list tools synchronously, because `tools()` waits for servers. */
export function giveAccess<Methods extends object>(
  methods: Methods,
  access: { artifacts: () => Artifacts; ownTools: () => readonly ToolInfo[]; state: PortState },
): Methods {
  Object.defineProperty(methods, OWN_TOOLS_KEY, { get: access.ownTools });
  Object.defineProperty(methods, STATE_KEY, { value: access.state });
  return giveArtifacts(methods, access.artifacts);
}

/** The tools that the port itself offers to models, such as `read_resource`. */
export const ownToolsOf = (toolport: object): readonly ToolInfo[] =>
  (toolport as { readonly [OWN_TOOLS_KEY]?: readonly ToolInfo[] })[OWN_TOOLS_KEY] ?? [];

/** The store of a port, for the records of one user. */
export interface PortState {
  readonly store: Store;
  /** Undefined outside `as(principal)`. */
  readonly principal: string | undefined;
  /** Deletes the saved outcomes of calls with these keys. */
  forgetCalls(keys: readonly string[]): Promise<void>;
}

/** Undefined for an object that is not of `createToolport`. */
export const stateOf = (toolport: object): PortState | undefined =>
  (toolport as { readonly [STATE_KEY]?: PortState })[STATE_KEY];
