/** Builds the start command of a package or an unpacked bundle. Never uses the publisher's choice of runtime, never a shell. */

import { ChunkList, ConfigError, ConnectionError, canParseUrl, type Fields, isRecord } from "@toolport/base";
import type { DockerServerEntry, StdioServerEntry } from "@toolport/core";
import type { InputPlace, InputResolver } from "./input-resolver.js";
import {
  fieldOf,
  flagOf,
  InvalidValue,
  type ServerInput,
  type ServerPackage,
  textOf,
  textsOf,
} from "./server-json.js";

/** A package with its arguments and variables resolved. */
interface ResolvedPackage {
  readonly package: ServerPackage;
  readonly runtimeArgs: readonly string[];
  readonly packageArgs: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly warnings: string[];
}

type StartEntry = StdioServerEntry | DockerServerEntry;
type Starter = (resolved: ResolvedPackage) => StartEntry;

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

function pinned(resolved: ResolvedPackage, mark: string): string {
  const { package: found, warnings } = resolved;
  const { identifier, version, registryType } = found;
  if (version === undefined || version === "latest") {
    warnings.push("The entry has no version: the newest one is run");
    return identifier;
  }
  if (VERSIONS[registryType]?.test(version) !== true) throw new InvalidValue("its version is not exact");
  return `${identifier}${mark}${version}`;
}

/** The option that selects the package registry of the entry. Without it, another registry could provide a different package. */
function fromRegistry(resolved: ResolvedPackage, option: string): string[] {
  const { registryType, registryBaseUrl } = resolved.package;
  if (registryBaseUrl === undefined || registryBaseUrl === "") return [];
  const url = canParseUrl(registryBaseUrl) ? new URL(registryBaseUrl) : undefined;
  if (url?.protocol !== "https:" || url.username !== "") {
    throw new InvalidValue("its package registry is not an https URL");
  }
  if (USUAL_HOSTS[registryType]?.includes(url.host)) return [];
  resolved.warnings.push(
    `The package comes from ${url.host}, which is not the default registry of ${registryType}`,
  );
  return [`${option}=${url.href}`];
}

/** The publisher's arguments without the one that Toolport adds. */
const withoutYes = ({ runtimeArgs }: ResolvedPackage): string[] =>
  runtimeArgs.filter((arg) => arg !== "-y" && arg !== "--yes");

const npm: Starter = (resolved) => {
  const name = pinned(resolved, "@");
  const registry = fromRegistry(resolved, "--registry");
  const runtimeArgs = withoutYes(resolved);
  if (runtimeArgs.some((arg) => SHELL_OPTION.test(arg))) throw new InvalidValue("it makes npx run a shell");
  return { command: "npx", args: ["-y", ...runtimeArgs, ...registry, name, ...resolved.packageArgs] };
};

const pypi: Starter = (resolved) => {
  const name = pinned(resolved, "==");
  const registry = fromRegistry(resolved, "--default-index");
  return { command: "uvx", args: [...resolved.runtimeArgs, ...registry, name, ...resolved.packageArgs] };
};

const nuget: Starter = (resolved) => {
  const name = pinned(resolved, "@");
  const registry = fromRegistry(resolved, "--source");
  const { packageArgs } = resolved;
  const own = packageArgs.length > 0 ? ["--", ...packageArgs] : [];
  return { command: "dnx", args: [name, "--yes", ...withoutYes(resolved), ...registry, ...own] };
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
  if (!NAMES["oci"]?.test(image)) throw new InvalidValue("its image name is invalid");
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

/**
 * Builds the entry that starts a package.
 *
 * @throws InvalidValue if that is impossible
 */
export function toStartEntry(resolved: ResolvedPackage): StartEntry {
  const { package: found, runtimeArgs, env, warnings } = resolved;
  const { registryType, identifier, runtimeHint = "" } = found;
  const start = Object.hasOwn(STARTERS, registryType) ? STARTERS[registryType] : undefined;
  if (start === undefined) throw new InvalidValue(unsupportedReason(found) ?? "it cannot be started");
  // A name that starts with a dash would be an option, and a URL or path would be another package.
  if (!NAMES[registryType]?.test(identifier))
    throw new InvalidValue("its identifier is not a valid package name");
  const [program = "", ...others] = RUNTIMES[registryType] ?? [];
  if (runtimeHint !== "" && ![program, ...others].includes(runtimeHint)) {
    const hint = JSON.stringify(runtimeHint.slice(0, 40));
    if (runtimeArgs.length > 0)
      throw new InvalidValue(`its arguments are for ${hint}, which Toolport does not use`);
    warnings.push(`The publisher suggests ${hint}; Toolport uses ${program} instead`);
  }
  if (runtimeArgs.length > 0) {
    warnings.push(
      `The publisher adds arguments for ${program}, which can change which code runs: review them`,
    );
  }
  const entry = start(resolved);
  return "image" in entry ? entry : { ...entry, env };
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

/** A verified and unpacked bundle. */
export interface UnpackedMcpb {
  /** The result of `verifyMcpb` for the unpacked file. */
  readonly verified: VerifiedMcpb;
  /** Directory of the unpacked files. */
  readonly directory: string;
  /** The content of its `manifest.json`. */
  readonly manifest: unknown;
}

const MANIFEST_VARIABLE = /\$\{([^{}\s]{1,200})\}/g;
const USER_CONFIG = "user_config.";

/** `darwin`, `linux` or `win32`, as in manifests; undefined in runtimes without processes. */
const platform = (): string | undefined => globalThis.process?.platform;

function readConfig(manifest: Fields): Fields | undefined {
  const server = fieldOf(manifest, "server");
  const config = isRecord(server) ? fieldOf(server, "mcp_config") : undefined;
  if (!isRecord(config)) return undefined;
  const overrides = fieldOf(config, "platform_overrides");
  const own = isRecord(overrides) ? fieldOf(overrides, platform() ?? "") : undefined;
  return isRecord(own) ? { ...config, ...own } : config;
}

/** Converts the user settings of the manifest to inputs of a registry entry. */
function readSettings(manifest: Fields): ReadonlyMap<string, ServerInput & { isRepeated: boolean }> {
  const settings = fieldOf(manifest, "user_config");
  const found = isRecord(settings) ? Object.entries(settings) : [];
  return new Map(
    found
      .filter((pair): pair is [string, Fields] => isRecord(pair[1]))
      .map(([name, setting]) => {
        const type = textOf(setting, "type");
        const assumed = fieldOf(setting, "default");
        const input = {
          description: textOf(setting, "description") ?? textOf(setting, "title"),
          isRequired: flagOf(setting, "required"),
          isSecret: flagOf(setting, "sensitive"),
          format: type === "number" || type === "boolean" ? type : undefined,
          default: ["string", "number", "boolean"].includes(typeof assumed) ? String(assumed) : undefined,
          isRepeated: flagOf(setting, "multiple") ?? false,
        } as const;
        return [name, input];
      }),
  );
}

/**
 * Builds the entry that starts the bundle.
 *
 * @throws InvalidValue if that is impossible
 */
export function toBundleEntry(
  resolved: ResolvedPackage,
  bundle: UnpackedMcpb | undefined,
  resolver: InputResolver,
): StdioServerEntry {
  const { fileSha256 } = resolved.package;
  if (fileSha256 === undefined) throw new InvalidValue("it has no SHA-256, so its file cannot be verified");
  if (bundle === undefined) {
    throw new InvalidValue(
      "it is a bundle: download it, verify it with verifyMcpb, unpack it, and pass it as `bundle`",
    );
  }
  if (!VerifiedMcpb.isInstance(bundle.verified))
    throw new InvalidValue("its file was not verified with verifyMcpb");
  if (bundle.verified.sha256 !== fileSha256.toLowerCase()) {
    throw new InvalidValue("the verified file is not the file of the entry");
  }
  const config = isRecord(bundle.manifest) ? readConfig(bundle.manifest) : undefined;
  const command = config === undefined ? undefined : textOf(config, "command");
  if (!isRecord(bundle.manifest) || config === undefined || command === undefined) {
    throw new InvalidValue("its manifest has no start command");
  }
  const fill = createFill(bundle.directory, readSettings(bundle.manifest), resolver);
  const env = fieldOf(config, "env");
  const variables = Object.entries(isRecord(env) ? env : {}).filter(([, value]) => typeof value === "string");
  return {
    command: fill(command, "argument")[0] ?? command,
    args: [
      ...(textsOf(config, "args") ?? []).flatMap((arg) => fill(arg, "argument")),
      ...resolved.packageArgs,
    ],
    env: {
      ...Object.fromEntries(
        variables.flatMap(([name, value]) => fill(String(value), "environment").map((text) => [name, text])),
      ),
      ...resolved.env,
    },
    cwd: bundle.directory,
  };
}

/** Expands `${…}`. A setting with several values produces several strings, a setting without a value none. */
function createFill(directory: string, settings: ReturnType<typeof readSettings>, resolver: InputResolver) {
  return (text: string, where: InputPlace): string[] => {
    let texts = [text];
    for (const name of new Set([...text.matchAll(MANIFEST_VARIABLE)].map(([, found = ""]) => found))) {
      const key = name.startsWith(USER_CONFIG) ? name.slice(USER_CONFIG.length) : undefined;
      const input = key === undefined ? undefined : settings.get(key);
      let values: readonly string[] = [`\${${name}}`];
      if (name === "__dirname") values = [directory];
      else if (key !== undefined && input !== undefined) {
        const { isRequired = false, isRepeated } = input;
        values = resolver.valuesOf(key, input, { where, isRequired, isRepeated }) ?? [];
      } else resolver.warnings.push(`The bundle's manifest uses \${${name}}, which is not expanded`);
      texts = texts.flatMap((one) => values.map((value) => one.replaceAll(`\${${name}}`, () => value)));
    }
    return texts;
  };
}

/** Proof that a file was verified; only {@link verifyMcpb} creates it. */
export class VerifiedMcpb {
  readonly #sha256: string;

  /** @internal */
  constructor(sha256: string) {
    this.#sha256 = sha256;
    Object.freeze(this);
  }

  /** SHA-256 of the file, in hexadecimal. */
  get sha256(): string {
    return this.#sha256;
  }

  /** False for objects with the same fields. */
  static isInstance(value: unknown): value is VerifiedMcpb {
    return typeof value === "object" && value !== null && #sha256 in value;
  }
}

/** The bytes of a file, complete or as a stream. */
export type McpbData = Uint8Array | ArrayBuffer | AsyncIterable<Uint8Array>;

const MAX_BYTES = 512 * 1024 * 1024;

async function collect(data: McpbData, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  // Copy, so that the data cannot change while it is verified.
  if (data instanceof Uint8Array) return new Uint8Array(data);
  const chunks = new ChunkList();
  for await (const chunk of data) {
    chunks.push(chunk);
    if (chunks.byteLength > maxBytes) {
      throw new ConnectionError({
        code: "MESSAGE_TOO_LARGE",
        what: `The bundle is larger than ${maxBytes} bytes`,
        next: "Raise `maxBytes` to allow that",
      });
    }
  }
  return new Uint8Array(chunks.takeBlock());
}

/**
 * Compares the SHA-256 of a bundle with the one in its registry entry. Downloads nothing: you download the file, with the
 * user's consent, and verify it before you unpack it.
 *
 * @throws ConfigError with code `INVALID_CONFIG` if the hash does not match.
 * @example
 * ```ts
 * const verified = await verifyMcpb(await readFile("weather.mcpb"), fileSha256);
 * ```
 */
export async function verifyMcpb(
  data: McpbData,
  sha256: string,
  { maxBytes = MAX_BYTES }: { maxBytes?: number } = {},
): Promise<VerifiedMcpb> {
  const expected = sha256.trim().toLowerCase();
  if (!/^[a-f0-9]{64}$/.test(expected))
    throw invalidHash("The registry entry has no valid SHA-256 of the bundle");
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await collect(data, maxBytes)));
  const actual = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  if (actual !== expected)
    throw invalidHash(`The bundle is not the file of the registry entry: its SHA-256 is ${actual}`);
  return new VerifiedMcpb(actual);
}

const invalidHash = (what: string): ConfigError =>
  new ConfigError({
    code: "INVALID_CONFIG",
    what,
    next: "Do not unpack or run it; download it again from its publisher",
    issues: [{ path: "fileSha256", message: "does not match" }],
  });
