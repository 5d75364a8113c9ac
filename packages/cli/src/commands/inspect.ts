/** `toolport inspect`: shows everything about a server, with `--raw` the exchanged messages, too. */

import type { CommandContext, CommandSpec, OpenedPort, RunCommand } from "../command.js";
import { flag, SERVER, TYPED_OPTIONS } from "../command-options.js";
import { requireServer, type ServerOutcome, sourceOf } from "../connect-servers.js";
import { formatPairs } from "../format-table.js";
import { cell, plainJson, plainText, plural } from "../plain-text.js";
import { signature } from "./tools.js";

export const inspectCommand: CommandSpec = {
  name: "inspect",
  summary: "Show everything about a server: handshake, capabilities, schemas",
  group: "look",
  positionals: [SERVER],
  options: {
    raw: flag("Show the exchanged messages, with secrets redacted"),
    ...TYPED_OPTIONS,
  },
  takesTyped: "server",
  examples: [
    ["toolport inspect weather --raw", "with every message"],
    ["toolport inspect -- node server.js", "a server that is not configured"],
  ],
  load: async () => (await import("./inspect.js")).runInspect,
};

export const runInspect: RunCommand = async (context) => {
  const [server = ""] = context.words;
  const isRaw = context.flag("raw");
  const traffic: string[] = [];
  const record = (line: string) => void traffic.push(line);
  const opened = await context.openPort({
    servers: [server],
    ...(isRaw && {
      isSpecial: true,
      changeEntry: (entry, name) =>
        name === server ? { ...entry, logRequests: true, logResponses: true } : entry,
      options: { logger: { debug() {}, info: record, warn() {}, error() {} }, onLog() {} },
    }),
  });
  try {
    const outcome = await requireServer(context, opened, server);
    const document = describe(opened, outcome);
    if (context.form === "text") context.printPainted(toLines(document, context));
    else context.printJson({ ...document, ...(isRaw && { traffic }) });
  } finally {
    // Print the messages after a failure, too.
    if (isRaw && context.form === "text") context.print(["", "Traffic", ...traffic].join("\n"));
  }
};

function describe(opened: OpenedPort, { name, ms }: ServerOutcome) {
  const snapshot = opened.toolport.snapshot();
  const { server_url, transport, era, protocolVersion, serverInfo, capabilities, instructions, cut } =
    snapshot.servers[name]!;
  const own = <Info extends { server: string }>(infos: readonly Info[]): Info[] =>
    infos.filter((info) => info.server === name);
  const named = <Info extends { serverId: string; server: string }>(infos: readonly Info[]) =>
    own(infos).map(({ serverId: _alias, ...info }) => info);
  return {
    server: name,
    source: sourceOf(opened, name),
    address: server_url,
    transport,
    era,
    protocolVersion,
    serverInfo,
    capabilities,
    instructions,
    ms,
    tools: named(snapshot.tools),
    /** Why the list of tools is incomplete, if it is. */
    cut,
    withheldTools: own(snapshot.withheldTools),
    nameIssues: own(snapshot.nameIssues),
    textFindings: own(snapshot.textFindings),
    resources: named(snapshot.resources),
    resourceTemplates: named(snapshot.resourceTemplates),
    prompts: named(snapshot.prompts),
  };
}

type Description = ReturnType<typeof describe>;

function toLines(description: Description, { paint, columns }: CommandContext): string[] {
  const { serverInfo, source, capabilities, instructions } = description;
  const place = source.file === undefined ? undefined : `${source.file}:${source.line} (${source.kind})`;
  const facts = [
    ["server", description.server],
    ["source", place ?? (source.kind === "typed" ? "command line" : "saved state")],
    ["address", description.address],
    ["transport", description.transport],
    ["protocol", `${description.protocolVersion} (${description.era})`],
    ["software", serverInfo === null ? "unknown" : `${serverInfo.name} ${serverInfo.version}`],
    ["connected in", `${description.ms} ms`],
  ].map(([label, value]): [string, string] => [paint("dim", label!), cell(value)]);
  const counts = [
    plural(description.tools.length, "tool"),
    plural(description.resources.length, "resource"),
    plural(description.resourceTemplates.length, "resource template"),
    plural(description.prompts.length, "prompt"),
  ].join(", ");
  const sections = {
    Capabilities: Object.entries(capabilities ?? {}).map(
      ([key, value]) => `${cell(key)} ${plainJson(value)}`,
    ),
    Instructions: instructions === null ? [] : plainText(instructions).trim().split("\n"),
    Tools: description.tools.flatMap((tool) => [cell(signature(tool)), `  ${plainJson(tool.inputSchema)}`]),
    Resources: description.resources.map(({ uri, name }) => `${cell(uri)}  ${cell(name)}`),
    Templates: description.resourceTemplates.map(
      ({ uriTemplate, name }) => `${cell(uriTemplate)}  ${cell(name)}`,
    ),
    Prompts: description.prompts.map(({ name }) => cell(name)),
    "Withheld tools": description.withheldTools.map(({ name, reason }) => cell(`${name}: ${reason}`)),
  };
  return [
    ...formatPairs(facts, columns),
    ...Object.entries(sections).flatMap(([title, lines]) =>
      lines.length === 0 ? [] : ["", paint("bold", title), ...lines.map((line) => `  ${line}`)],
    ),
    "",
    counts,
  ];
}
