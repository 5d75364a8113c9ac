/** `toolport search`: searches a registry for servers. */
import { ToolportError } from "@toolport/base";
import { McpRegistryClient, type RegistryServer } from "@toolport/registry";
import { OFFICIAL_REGISTRY } from "@toolport/registry/internal";
import type { CommandContext, CommandSpec, RunCommand } from "../command.js";
import { number, REGISTRY, text } from "../command-options.js";
import { CliError, exitCodeOf } from "../errors.js";
import { oneLine } from "../plain-text.js";
import { shellWord } from "../shell-words.js";

export const searchCommand: CommandSpec = {
  name: "search",
  summary: "Search a registry for servers",
  group: "servers",
  positionals: [{ name: "text", summary: "Part of the name", rest: true }],
  options: {
    limit: number("<count>", "Maximum number of results (20)", { min: 1, max: 100 }),
    cursor: text("<cursor>", "Continue after this page"),
    registry: REGISTRY,
  },
  examples: [["toolport search weather", "then: toolport add --from-registry <name>"]],
  load: async () => (await import("./search.js")).runSearch,
};

const MAX_DESCRIPTION = 70;

export const runSearch: RunCommand = async (context) => {
  const search = context.words.join(" ");
  const registry = await openRegistry(context);
  const query = {
    search,
    limit: context.number("limit") ?? 20,
    version: "latest" as const,
    cursor: context.text("cursor"),
    signal: context.signal,
  };
  const { servers, nextCursor } = await context
    .progress(`Searching for ${search}`, () => registry.listServers(query))
    .catch((error: unknown) => {
      throw unavailable(error, context);
    });
  const rows = servers.map(toRow);
  if (context.form === "json") return context.printJson({ servers: rows, nextCursor: nextCursor ?? null });
  if (servers.length === 0) {
    context.info(`No server in the registry has ${JSON.stringify(search)} in its name`, "yellow");
    const [word = ""] = search.split(/[\s/]+/).sort((a, b) => b.length - a.length);
    if (word !== search) context.info(`Next: toolport search ${shellWord(word)}`);
    return;
  }
  context.printRows(
    ["NAME", "VERSION", "KIND", "WHAT IT DOES"],
    rows.map(({ name, version, ways, description, status }) => [
      name,
      version,
      ways.join(", "),
      `${status === "active" ? "" : `[${status}] `}${oneLine(description, MAX_DESCRIPTION)}`,
    ]),
  );
  if (nextCursor !== undefined)
    context.info(`More results: toolport search ${shellWord(search)} --cursor ${shellWord(nextCursor)}`);
  context.info(`Next: toolport add --from-registry ${shellWord(rows[0]!.name)}`);
};

/** The registry is no configured server, so `doctor` and `list` cannot help. */
function unavailable(error: unknown, context: CommandContext): unknown {
  if (!ToolportError.isInstance(error)) return error;
  const words = context.words.map(shellWord).join(" ");
  const isOfficial = context.text("registry") === undefined;
  return new CliError(
    `The registry cannot be searched: ${error.what}`,
    isOfficial ? "toolport import --dry-run" : `toolport search ${words} --registry ${OFFICIAL_REGISTRY}`,
    { code: error.code, exitCode: exitCodeOf(error) },
  );
}

/** One server, as `--json` prints it, without fields that are undefined. */
function toRow({ server, official }: RegistryServer) {
  const { name, title, description, version, remotes, packages, websiteUrl } = server;
  return {
    name,
    title,
    description,
    version,
    status: official?.status ?? "active",
    websiteUrl,
    /** `remote` for a URL, otherwise the kind of package. */
    ways: [...new Set([...remotes.map(() => "remote"), ...packages.map(({ registryType }) => registryType)])],
    remotes: remotes.map((remote) => ({ type: remote.type, url: remote.url })),
    packages: packages.map((each) => ({
      registryType: each.registryType,
      identifier: each.identifier,
      version: each.version,
    })),
  };
}

/** Responses are cached in the state file, because registries guarantee no availability. */
export async function openRegistry(context: CommandContext): Promise<McpRegistryClient> {
  const baseUrl = context.text("registry") ?? context.env["TOOLPORT_REGISTRY"];
  const { store, statePath } = await context.openStore();
  return new McpRegistryClient({
    cache: statePath === undefined ? true : store,
    ...(baseUrl && { baseUrl }),
    ...(context.timeoutMs !== undefined && { timeoutMs: context.timeoutMs }),
    onWarning: ({ message }) => context.warn(message),
  });
}
