/** Lists the remotes and packages of a registry entry in order of preference. */
import { unsupportedReason } from "./package-command.js";
import type { ServerJson, ServerPackage, ServerRemote } from "./server-json.js";

/** A kind of package, a kind of remote, or all of either. */
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

/** A remote or package of a server. */
export interface ServerSource {
  readonly kind: "remote" | "package";
  /** `streamable-http`, `sse`, or the kind of package. */
  readonly type: string;
  /** The published URL, or the name of the package. */
  readonly identifier: string;
  readonly version: string | undefined;
}

export type Candidate = ServerSource &
  ({ readonly remote: ServerRemote } | { readonly package: ServerPackage });

/** Remotes first, because they run no code on this machine. */
const USUAL: readonly string[] = ["streamable-http", "sse", "package"];

const fits = ({ kind, type }: ServerSource, wanted: string): boolean => wanted === kind || wanted === type;

function rank(source: ServerSource, order: readonly string[]): number {
  const at = order.findIndex((wanted) => fits(source, wanted));
  return at < 0 ? order.length : at;
}

/** The public fields of a candidate. */
export const toSource = ({ kind, type, identifier, version }: ServerSource): ServerSource => ({
  kind,
  type,
  identifier,
  version,
});

/** All usable sources, sorted. Adds a warning for each unusable one. */
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
  if (absent && usable.length > 0) warnings.push(`The server is not available as ${preferred.join(" or ")}`);
  const order = [...preferred, ...USUAL];
  return usable.sort((one, other) => rank(one, order) - rank(other, order));
}
