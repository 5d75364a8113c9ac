/** Reads from the manifest of an unpacked bundle how its server is started. */
import type { StdioServerEntry } from "../config/server-entry.js";
import { type Fields, fieldOf, flagOf, InvalidValue, isFields, textOf, textsOf } from "./fields.js";
import type { InputPlace, InputResolver } from "./input-resolver.js";
import type { ResolvedPackage } from "./package-command.js";
import type { ServerInput } from "./server-json.js";
import { VerifiedMcpb } from "./verify-mcpb.js";

/** A bundle that was checked, then unpacked. */
export interface UnpackedMcpb {
  /** From `verifyMcpb`, for the very file that was unpacked. */
  readonly verified: VerifiedMcpb;
  /** Where it was unpacked to. */
  readonly directory: string;
  /** The content of its `manifest.json`. */
  readonly manifest: unknown;
}

const VARIABLE = /\$\{([^{}\s]{1,200})\}/g;
const USER_CONFIG = "user_config.";

/** `darwin`, `linux` or `win32`, as manifests call them; undefined where there are no processes. */
const platform = (): string | undefined => globalThis.process?.platform;

function readConfig(manifest: Fields): Fields | undefined {
  const server = fieldOf(manifest, "server");
  const config = isFields(server) ? fieldOf(server, "mcp_config") : undefined;
  if (!isFields(config)) return undefined;
  const overrides = fieldOf(config, "platform_overrides");
  const own = isFields(overrides) ? fieldOf(overrides, platform() ?? "") : undefined;
  return isFields(own) ? { ...config, ...own } : config;
}

/** The user's settings, in the words of a registry entry. */
function readSettings(manifest: Fields): ReadonlyMap<string, ServerInput & { isRepeated: boolean }> {
  const settings = fieldOf(manifest, "user_config");
  const found = isFields(settings) ? Object.entries(settings) : [];
  return new Map(
    found
      .filter((pair): pair is [string, Fields] => isFields(pair[1]))
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

/** The entry that starts the server of a bundle, with what the registry entry adds, or why there is none. */
export function toBundleEntry(
  resolved: ResolvedPackage,
  bundle: UnpackedMcpb | undefined,
  resolver: InputResolver,
): StdioServerEntry | InvalidValue {
  const { fileSha256 } = resolved.package;
  if (fileSha256 === undefined) return new InvalidValue("it has no SHA-256, so its file cannot be checked");
  if (bundle === undefined) {
    return new InvalidValue(
      "it is a bundle: download it, check it with verifyMcpb, unpack it, and give it as `bundle`",
    );
  }
  if (!VerifiedMcpb.isInstance(bundle.verified))
    return new InvalidValue("its file was not checked with verifyMcpb");
  if (bundle.verified.sha256 !== fileSha256.toLowerCase()) {
    return new InvalidValue("the file that was checked is another one than the entry names");
  }
  const config = isFields(bundle.manifest) ? readConfig(bundle.manifest) : undefined;
  const command = config === undefined ? undefined : textOf(config, "command");
  if (!isFields(bundle.manifest) || config === undefined || command === undefined) {
    return new InvalidValue("its manifest does not say how it is started");
  }
  const fill = createFill(bundle.directory, readSettings(bundle.manifest), resolver);
  const env = fieldOf(config, "env");
  const variables = Object.entries(isFields(env) ? env : {}).filter(([, value]) => typeof value === "string");
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

/** Fills `${…}` in; a setting with several values makes several texts, one without a value none. */
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
      } else resolver.warnings.push(`The bundle's manifest uses \${${name}}, which stays as it is`);
      texts = texts.flatMap((one) => values.map((value) => one.replaceAll(`\${${name}}`, () => value)));
    }
    return texts;
  };
}
