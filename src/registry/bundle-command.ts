/** Builds the start command of an unpacked bundle from its manifest. */
import type { StdioServerEntry } from "../config/server-entry.js";
import { ConfigError, ConnectionError } from "../errors/toolport-error.js";
import { type Fields, isRecord } from "../util/json.js";
import { fieldOf, flagOf, InvalidValue, textOf, textsOf } from "./fields.js";
import type { InputPlace, InputResolver } from "./input-resolver.js";
import type { ResolvedPackage } from "./package-command.js";
import type { ServerInput } from "./server-json.js";

/** A verified and unpacked bundle. */
export interface UnpackedMcpb {
  /** The result of `verifyMcpb` for the unpacked file. */
  readonly verified: VerifiedMcpb;
  /** Directory of the unpacked files. */
  readonly directory: string;
  /** The content of its `manifest.json`. */
  readonly manifest: unknown;
}

const VARIABLE = /\$\{([^{}\s]{1,200})\}/g;
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

/** Builds the entry that starts the bundle, or returns the reason why that is impossible. */
export function toBundleEntry(
  resolved: ResolvedPackage,
  bundle: UnpackedMcpb | undefined,
  resolver: InputResolver,
): StdioServerEntry | InvalidValue {
  const { fileSha256 } = resolved.package;
  if (fileSha256 === undefined) return new InvalidValue("it has no SHA-256, so its file cannot be verified");
  if (bundle === undefined) {
    return new InvalidValue(
      "it is a bundle: download it, verify it with verifyMcpb, unpack it, and pass it as `bundle`",
    );
  }
  if (!VerifiedMcpb.isInstance(bundle.verified))
    return new InvalidValue("its file was not verified with verifyMcpb");
  if (bundle.verified.sha256 !== fileSha256.toLowerCase()) {
    return new InvalidValue("the verified file is not the file of the entry");
  }
  const config = isRecord(bundle.manifest) ? readConfig(bundle.manifest) : undefined;
  const command = config === undefined ? undefined : textOf(config, "command");
  if (!isRecord(bundle.manifest) || config === undefined || command === undefined) {
    return new InvalidValue("its manifest has no start command");
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
    for (const name of new Set([...text.matchAll(VARIABLE)].map(([, found = ""]) => found))) {
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
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of data) {
    size += chunk.byteLength;
    if (size > maxBytes) {
      throw new ConnectionError({
        code: "MESSAGE_TOO_LARGE",
        what: `The bundle is larger than ${maxBytes} bytes`,
        next: "Raise `maxBytes` to allow that",
      });
    }
    chunks.push(chunk);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
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
