/** The properties of a Toolport under which adapters find the artifacts of its user, and the tools of the port itself. */
import type { Artifacts } from "../execution/artifacts/artifact-store.js";
import type { ToolInfo } from "../model/tool-info.js";

// Registered symbols, because CommonJS bundles contain several copies of this module.
const ARTIFACTS_KEY = Symbol.for("toolport.artifacts");
const OWN_TOOLS_KEY = Symbol.for("toolport.ownTools");

/** Not enumerable: a wrapper that copies the methods may send calls elsewhere, where the artifacts are not. */
export function giveArtifacts<Methods extends object>(methods: Methods, artifacts: () => Artifacts): Methods {
  return Object.defineProperty(methods, ARTIFACTS_KEY, { get: artifacts });
}

/** Undefined for an object that is not of `createToolport`. */
export const artifactsOf = (toolport: object): Artifacts | undefined =>
  (toolport as { readonly [ARTIFACTS_KEY]?: Artifacts })[ARTIFACTS_KEY];

/** For adapters that list tools synchronously: `tools()` waits for servers. */
export function giveOwnTools<Methods extends object>(
  methods: Methods,
  list: () => readonly ToolInfo[],
): Methods {
  return Object.defineProperty(methods, OWN_TOOLS_KEY, { get: list });
}

/** The tools that the port itself offers to models, such as `read_resource`. */
export const ownToolsOf = (toolport: object): readonly ToolInfo[] =>
  (toolport as { readonly [OWN_TOOLS_KEY]?: readonly ToolInfo[] })[OWN_TOOLS_KEY] ?? [];
