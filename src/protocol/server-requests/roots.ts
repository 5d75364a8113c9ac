/** Roots: the option `roots`, and handling `roots/list` with it. */

import type { ClientCapabilities } from "@modelcontextprotocol/client";
import { ConfigError } from "../../errors/toolport-error.js";
import { canParseUrl } from "../../util/text.js";
import { notServed, type RequestOrigin, runCallback, unusableCallbackResult } from "./run-callback.js";

/** A directory or file that servers may work on. */
export interface Root {
  /** A `file://` URL. */
  readonly uri: string;
  /** Display name. */
  readonly name?: string | undefined;
}

/**
 * Directories and files that servers may work on: a list for all servers, or a function that decides for each. Call
 * `rootsChanged()` after a change.
 *
 * @example
 * ```ts
 * const roots: RootsOption = ({ server }) =>
 *   server === "files" ? [{ uri: "file:///home/ada/project", name: "project" }] : [];
 * ```
 */
export type RootsOption =
  | readonly Root[]
  | ((origin: RequestOrigin) => readonly Root[] | Promise<readonly Root[]>);

/** The capability to advertise; undefined: none. */
export const rootsCapability = (option: RootsOption | undefined): ClientCapabilities["roots"] =>
  option === undefined ? undefined : { listChanged: true };

/** Validates a fixed list when the port is created. */
export function assertRoots(option: RootsOption | undefined): void {
  if (option === undefined || typeof option === "function") return;
  const issues = option.flatMap((root, index) =>
    isRoot(root) ? [] : [{ path: `roots[${index}].uri`, message: "must be a file:// URL" }],
  );
  if (issues.length > 0) throw new ConfigError({ code: "INVALID_CONFIG", issues });
}

/** Handles `roots/list`. */
export async function handleRoots(
  origin: RequestOrigin,
  option: RootsOption | undefined,
): Promise<Record<string, unknown>> {
  if (option === undefined)
    throw notServed(origin, { requested: "the directories it may work on (roots/list)", option: "roots" });
  const roots =
    typeof option === "function" ? await runCallback("roots", origin, () => option(origin)) : option;
  if (!Array.isArray(roots) || !roots.every(isRoot))
    throw unusableCallbackResult("roots", origin, { what: "it is not a list of file:// URLs" });
  return { roots: roots.map(({ uri, name }) => ({ uri, ...(name !== undefined && { name }) })) };
}

function isRoot(root: unknown): root is Root {
  const { uri, name } = (root ?? {}) as Partial<Root>;
  if (typeof uri !== "string" || (name !== undefined && typeof name !== "string")) return false;
  return uri.startsWith("file://") && canParseUrl(uri);
}
