/** The property of a Toolport under which adapters find the artifacts of its user. */
import type { Artifacts } from "../execution/artifacts/artifact-store.js";

// A registered symbol, because CommonJS bundles contain several copies of this module.
const ARTIFACTS_KEY = Symbol.for("toolport.artifacts");

/** Not enumerable: a wrapper that copies the methods may send calls elsewhere, where the artifacts are not. */
export function giveArtifacts<Methods extends object>(methods: Methods, artifacts: () => Artifacts): Methods {
  return Object.defineProperty(methods, ARTIFACTS_KEY, { get: artifacts });
}

/** Undefined for an object that is not of `createToolport`. */
export const artifactsOf = (toolport: object): Artifacts | undefined =>
  (toolport as { readonly [ARTIFACTS_KEY]?: Artifacts })[ARTIFACTS_KEY];
