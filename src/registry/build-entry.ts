/** Builds the entry for one way to get at a server, and looks at what whoever uses it should know. */
import type { DockerServerEntry, HttpServerEntry, StdioServerEntry } from "../config/server-entry.js";
import {
  canonicalHost,
  isLiteralAddress,
  isLocalName,
  isLoopbackHost,
} from "../transports/http/network/local-host.js";
import { toBundleEntry, type UnpackedMcpb } from "./bundle-command.js";
import type { InputDesk } from "./input-desk.js";
import { toStartEntry } from "./package-command.js";
import { toRemoteEntry } from "./remote-entry.js";
import { renderArguments } from "./render-arguments.js";
import type { KeyValueInput, ServerPackage } from "./server-json.js";
import type { Candidate } from "./server-sources.js";
import { Misfit } from "./shape.js";

type ProcessEntry = StdioServerEntry | DockerServerEntry;

/** What came of one way; usable only if nothing is missing at the desk. */
export interface BuiltEntry {
  readonly entry: ProcessEntry | HttpServerEntry;
  /** What has to be started before `entry` leads anywhere. */
  readonly start: ProcessEntry | undefined;
}

function readEnvironment(variables: readonly KeyValueInput[], desk: InputDesk): Record<string, string> {
  const env: Record<string, string> = {};
  for (const variable of variables) {
    const use = { where: "environment", isRequired: variable.isRequired ?? false } as const;
    const [value] = desk.resolve(variable.name, variable, use) ?? [];
    if (value !== undefined) env[variable.name] = value;
  }
  return env;
}

function buildPackage(
  found: ServerPackage,
  desk: InputDesk,
  bundle: UnpackedMcpb | undefined,
): BuiltEntry | Misfit {
  const runtime = renderArguments(found.runtimeArguments, desk, "runtimeArgument");
  const own = renderArguments(found.packageArguments, desk, "argument");
  const env = readEnvironment(found.environmentVariables, desk);
  const resolved = {
    ...{ package: found, runtimeArgs: runtime.args, packageArgs: own.args },
    ...{ env, warnings: desk.warnings },
  };
  const start =
    found.registryType === "mcpb" ? toBundleEntry(resolved, bundle, desk) : toStartEntry(resolved);
  if (start instanceof Misfit) return start;
  warnOfCommand(start, desk);
  const { transport } = found;
  if (transport.type === "stdio") return { entry: start, start: undefined };
  desk.warnings.push("The server listens on an address: start the program in `start` before you connect");
  const known = new Map([...runtime.values, ...own.values, ...Object.entries(env)]);
  return { entry: toRemoteEntry(transport, desk, known), start };
}

function warnOfCommand(entry: ProcessEntry, desk: InputDesk): void {
  const args = [...(entry.args ?? []), ...("runArgs" in entry ? (entry.runArgs ?? []) : [])];
  if (args.some((arg) => desk.holdsSecret(arg))) {
    desk.warnings.push("A secret stands on the command line, where other users of this machine can read it");
  }
}

function warnOfAddress({ url }: HttpServerEntry, desk: InputDesk): void {
  const text = String(url);
  if (!URL.canParse(text)) return;
  const address = new URL(text);
  const host = canonicalHost(address);
  if (isLocalName(host)) desk.warnings.push(`The server's address is inside your own network: ${host}`);
  else if (isLiteralAddress(host))
    desk.warnings.push(`The server has an IP address, which may be inside your own network: ${host}`);
  if (address.protocol === "http:" && !isLoopbackHost(host))
    desk.warnings.push("The server is reached without encryption (http:)");
  if (desk.holdsSecret(text)) desk.warnings.push("A secret is part of the server's address");
}

/** The entry for a way, or why there is none. */
export function buildEntry(
  candidate: Candidate,
  desk: InputDesk,
  bundle: UnpackedMcpb | undefined,
): BuiltEntry | Misfit {
  if ("package" in candidate) return buildPackage(candidate.package, desk, bundle);
  const entry = toRemoteEntry(candidate.remote, desk);
  warnOfAddress(entry, desk);
  return { entry, start: undefined };
}
