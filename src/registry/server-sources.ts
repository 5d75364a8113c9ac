/** The ways to get at a server that its entry names, the preferred one first. */
import { unsupportedReason } from "./package-command.js";
import type { ServerJson, ServerPackage, ServerRemote } from "./server-json.js";

/** What may be preferred: a kind of package, a kind of remote, or either as a whole. */
export type SourcePreference =
  | "remote"
  | "streamable-http"
  | "sse"
  | "package"
  | "npm"
  | "pypi"
  | "oci"
  | "nuget"
  | "mcpb";

/** One way to get at a server. */
export interface ServerSource {
  readonly kind: "remote" | "package";
  /** `streamable-http`, `sse`, or the kind of package. */
  readonly type: string;
  /** The address as published, or the name of the package. */
  readonly identifier: string;
  readonly version: string | undefined;
}

export type Candidate = ServerSource &
  ({ readonly remote: ServerRemote } | { readonly package: ServerPackage });

/** Remotes first: nothing of theirs runs on this machine. */
const USUAL: readonly string[] = ["streamable-http", "sse", "package"];

const fits = ({ kind, type }: ServerSource, wanted: string): boolean => wanted === kind || wanted === type;

function rank(source: ServerSource, order: readonly string[]): number {
  const at = order.findIndex((wanted) => fits(source, wanted));
  return at < 0 ? order.length : at;
}

/** What may be told to others of a candidate. */
export const toSource = ({ kind, type, identifier, version }: ServerSource): ServerSource => ({
  kind,
  type,
  identifier,
  version,
});

/** All ways, sorted; those that cannot be used are left out with a word in `warnings`. */
export function findSources(
  { remotes, packages }: ServerJson,
  preferred: readonly SourcePreference[],
  warnings: string[],
): Candidate[] {
  const all: Candidate[] = [
    ...remotes.map((remote) => ({
      ...({ kind: "remote", type: remote.type, identifier: remote.url, version: undefined } as const),
      remote,
    })),
    ...packages.map((found) => ({
      ...({ kind: "package", type: found.registryType, identifier: found.identifier } as const),
      version: found.version,
      package: found,
    })),
  ];
  const usable = all.filter((candidate) => {
    const reason = "package" in candidate ? unsupportedReason(candidate.package) : undefined;
    if (reason !== undefined) warnings.push(`${candidate.identifier} cannot be used: ${reason}`);
    return reason === undefined;
  });
  const absent = preferred.length > 0 && !preferred.some((wanted) => usable.some((one) => fits(one, wanted)));
  if (absent && usable.length > 0) warnings.push(`The server is not offered as ${preferred.join(" or ")}`);
  const order = [...preferred, ...USUAL];
  return usable.sort((one, other) => rank(one, order) - rank(other, order));
}
