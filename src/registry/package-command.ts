/** Builds the start command of a package. Never uses the publisher's choice of runtime, never a shell. */

import type { DockerServerEntry, StdioServerEntry } from "../config/server-entry.js";
import { canParseUrl } from "../util/text.js";
import { InvalidValue } from "./fields.js";
import type { ServerPackage } from "./server-json.js";

/** A package with its arguments and variables resolved. */
export interface ResolvedPackage {
  readonly package: ServerPackage;
  readonly runtimeArgs: readonly string[];
  readonly packageArgs: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly warnings: string[];
}

type StartEntry = StdioServerEntry | DockerServerEntry;
type Starter = (resolved: ResolvedPackage) => StartEntry | InvalidValue;

const NAMES: Readonly<Record<string, RegExp>> = {
  npm: /^(?:@[a-z0-9~_][\w.~-]*\/)?[a-z0-9~_][\w.~-]*$/i,
  pypi: /^[a-z0-9](?:[\w.-]*[a-z0-9])?(?:\[[\w.,-]+\])?$/i,
  nuget: /^[a-z0-9_][\w.-]*$/i,
  oci: /^[a-z0-9][\w.-]*(?::\d+)?(?:\/[\w.-]+)*(?::[\w.-]+)?(?:@sha256:[a-f0-9]{64})?$/i,
};

/** Default registries of each kind of package. */
const USUAL_HOSTS: Readonly<Record<string, readonly string[]>> = {
  npm: ["registry.npmjs.org"],
  pypi: ["pypi.org"],
  nuget: ["api.nuget.org"],
};

/** Runtimes that the runtime arguments of each kind may be written for. */
const RUNTIMES: Readonly<Record<string, readonly string[]>> = {
  npm: ["npx"],
  pypi: ["uvx"],
  nuget: ["dnx"],
  oci: ["docker", "podman"],
};

/** Exact versions only, because a range, tag or alias may resolve to other code later. For npm, `1.2` is a range. */
const VERSIONS: Readonly<Record<string, RegExp>> = {
  npm: /^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/,
  pypi: /^v?\d[\w.!+-]*$/,
  nuget: /^\d+(?:\.\d+){1,3}(?:[-+][\w.+-]+)?$/,
};

/** `npx -c` runs its argument in a shell. Matches combined short options and abbreviations, too. */
const SHELL_OPTION = /^(?:-[a-z]*c|--cal?l?(?:=|$))/i;

function pinned(resolved: ResolvedPackage, join: string): string | InvalidValue {
  const { package: found, warnings } = resolved;
  const { version, registryType } = found;
  if (version === undefined || version === "latest") {
    warnings.push("The entry has no version: the newest one is run");
    return "";
  }
  const isExact = VERSIONS[registryType]?.test(version) === true;
  return isExact ? `${join}${version}` : new InvalidValue("its version is not exact");
}

/** The option that selects the package registry of the entry. Without it, another registry could provide a different package. */
function fromRegistry(resolved: ResolvedPackage, option: string): string[] | InvalidValue {
  const { registryType, registryBaseUrl } = resolved.package;
  if (registryBaseUrl === undefined || registryBaseUrl === "") return [];
  const url = canParseUrl(registryBaseUrl) ? new URL(registryBaseUrl) : undefined;
  if (url?.protocol !== "https:" || url.username !== "") {
    return new InvalidValue("its package registry is not an https URL");
  }
  if (USUAL_HOSTS[registryType]?.includes(url.host)) return [];
  resolved.warnings.push(
    `The package comes from ${url.host}, which is not the default registry of ${registryType}`,
  );
  return [`${option}=${url.href}`];
}

const npm: Starter = (resolved) => {
  const version = pinned(resolved, "@");
  const registry = fromRegistry(resolved, "--registry");
  if (version instanceof InvalidValue) return version;
  if (registry instanceof InvalidValue) return registry;
  const runtimeArgs = resolved.runtimeArgs.filter((arg) => arg !== "-y" && arg !== "--yes");
  if (runtimeArgs.some((arg) => SHELL_OPTION.test(arg))) return new InvalidValue("it makes npx run a shell");
  const name = `${resolved.package.identifier}${version}`;
  return { command: "npx", args: ["-y", ...runtimeArgs, ...registry, name, ...resolved.packageArgs] };
};

const pypi: Starter = (resolved) => {
  const version = pinned(resolved, "==");
  const registry = fromRegistry(resolved, "--default-index");
  if (version instanceof InvalidValue) return version;
  if (registry instanceof InvalidValue) return registry;
  const name = `${resolved.package.identifier}${version}`;
  return { command: "uvx", args: [...resolved.runtimeArgs, ...registry, name, ...resolved.packageArgs] };
};

const nuget: Starter = (resolved) => {
  const version = pinned(resolved, "@");
  const registry = fromRegistry(resolved, "--source");
  if (version instanceof InvalidValue) return version;
  if (registry instanceof InvalidValue) return registry;
  const { packageArgs } = resolved;
  const runtimeArgs = resolved.runtimeArgs.filter((arg) => arg !== "-y" && arg !== "--yes");
  const own = packageArgs.length > 0 ? ["--", ...packageArgs] : [];
  const name = `${resolved.package.identifier}${version}`;
  return { command: "dnx", args: [name, "--yes", ...runtimeArgs, ...registry, ...own] };
};

/** Older entries have the host and tag in separate fields. */
function imageOf({ identifier, version, registryBaseUrl = "" }: ServerPackage): string {
  const isTagged = /[:@]/.test(identifier.slice(identifier.lastIndexOf("/") + 1));
  const tagged = isTagged || version === undefined ? identifier : `${identifier}:${version}`;
  const hasHost = /^(?:[^/]*[.:][^/]*|localhost)\//.test(identifier);
  return hasHost || !canParseUrl(registryBaseUrl) ? tagged : `${new URL(registryBaseUrl).host}/${tagged}`;
}

const oci: Starter = ({ package: found, runtimeArgs, packageArgs, env, warnings }) => {
  const image = imageOf(found);
  if (!NAMES["oci"]?.test(image)) return new InvalidValue("its image name is invalid");
  if (!/[:@]/.test(image.slice(image.lastIndexOf("/") + 1))) {
    warnings.push("The entry has no version: the newest one is run");
  }
  const { runArgs, env: own, reaching } = toDockerRunArgs(runtimeArgs, image);
  if (reaching.length > 0) {
    warnings.push(`The container gets more access to this machine than usual: ${reaching.join(", ")}`);
  }
  return {
    transport: "docker",
    image,
    ...(found.runtimeHint === "podman" ? { engine: "podman" } : {}),
    args: packageArgs,
    env: { ...own, ...env },
    runArgs,
  };
};

const STARTERS: Readonly<Record<string, Starter>> = { npm, pypi, nuget, oci };

const UNSUPPORTED: Readonly<Record<string, string>> = {
  cargo: "crates cannot be run without installing them; install it and write the entry yourself",
};

/** Why a package of this kind cannot be started, or undefined. */
export function unsupportedReason({ registryType }: ServerPackage): string | undefined {
  if (Object.hasOwn(STARTERS, registryType) || registryType === "mcpb") return undefined;
  const known = Object.hasOwn(UNSUPPORTED, registryType) ? UNSUPPORTED[registryType] : undefined;
  return known ?? `packages of the kind "${registryType.slice(0, 40)}" are not supported`;
}

/** Builds the entry that starts a package, or returns the reason why that is impossible. */
export function toStartEntry(resolved: ResolvedPackage): StartEntry | InvalidValue {
  const { package: found, runtimeArgs, env, warnings } = resolved;
  const { registryType, identifier, runtimeHint = "" } = found;
  const start = Object.hasOwn(STARTERS, registryType) ? STARTERS[registryType] : undefined;
  if (start === undefined) return new InvalidValue(unsupportedReason(found) ?? "it cannot be started");
  // A name that starts with a dash would be an option, and a URL or path would be another package.
  if (!NAMES[registryType]?.test(identifier))
    return new InvalidValue("its identifier is not a valid package name");
  const [program = "", ...others] = RUNTIMES[registryType] ?? [];
  if (runtimeHint !== "" && ![program, ...others].includes(runtimeHint)) {
    const hint = JSON.stringify(runtimeHint.slice(0, 40));
    if (runtimeArgs.length > 0)
      return new InvalidValue(`its arguments are for ${hint}, which Toolport does not use`);
    warnings.push(`The publisher suggests ${hint}; Toolport uses ${program} instead`);
  }
  if (runtimeArgs.length > 0) {
    warnings.push(
      `The publisher adds arguments for ${program}, which can change which code runs: review them`,
    );
  }
  const entry = start(resolved);
  return entry instanceof InvalidValue || "image" in entry ? entry : { ...entry, env };
}

/** Options that Toolport sets itself, and terminal options, which would break the protocol. */
const OWN = new Set(["-i", "--interactive", "--rm", "--init", "-t", "--tty", "-it", "-ti"]);

/** Options that give the container more access to the machine than usual. */
const REACHING =
  /^(?:--privileged|--cap-add|--device|--security-opt|--volumes-from|--mount|--volume|-v|--network|--net|--pid|--ipc|--userns|--uts|--gpus)(?:=|$)/;

const VARIABLE = /^([^=]+)=(.*)$/s;

/** Splits a publisher's arguments for `docker run`. Drops a repeated `image`. */
function toDockerRunArgs(args: readonly string[], image: string) {
  const runArgs: string[] = [];
  /** From `-e NAME=value`. They are passed by name, so that process lists do not show the values. */
  const env: Record<string, string> = {};
  const reaching = new Set<string>();
  const rest = args[0] === "run" ? args.slice(1) : [...args];
  for (let index = 0; index < rest.length; index++) {
    const arg = rest[index] ?? "";
    if (OWN.has(arg) || arg === image) continue;
    const isSplit = arg === "-e" || arg === "--env";
    const variable = VARIABLE.exec(
      isSplit ? (rest[index + 1] ?? "") : arg.startsWith("--env=") ? arg.slice(6) : "",
    );
    if (variable !== null) {
      env[variable[1] ?? ""] = variable[2] ?? "";
      if (isSplit) index++;
      continue;
    }
    if (REACHING.test(arg)) reaching.add(arg.split("=", 1)[0] ?? arg);
    runArgs.push(arg);
  }
  return { runArgs, env, reaching: [...reaching] };
}
