/** `toolport list`: connects the servers and shows their state. */
import { homedir } from "node:os";
import { relative, sep } from "node:path";
import type { ToolCosts } from "@toolport/core";
import type { CommandContext, CommandSpec, OpenedPort, RunCommand, ServerOrigin } from "../command.js";
import { OPTIONAL_SERVER, TYPED_OPTIONS } from "../command-options.js";
import {
  connectServers,
  type ServerOutcome,
  type ServerStatus,
  serversIn,
  sourceOf,
} from "../connect-servers.js";
import { CliError, EXIT, errorDocument, exitCodeOf } from "../errors.js";
import { formatRow, type TableColumn, textWidth } from "../format-table.js";
import { TYPED_SOURCE } from "../load-servers.js";
import { about, type Colour, cell, plainBlock, plainLine } from "../plain-text.js";

export const listCommand: CommandSpec = {
  name: "list",
  summary: "List the servers with their state, tools and source",
  group: "servers",
  positionals: [{ ...OPTIONAL_SERVER, rest: true, summary: "Only these servers (names or URLs)" }],
  options: TYPED_OPTIONS,
  takesTyped: "servers",
  examples: [
    ["toolport list", "connect to every server and show the results"],
    ["toolport list --json", "the same as JSON"],
  ],
  load: async () => (await import("./list.js")).runList,
};

type ServerCost = ToolCosts["servers"][string];

const COLOURS: Readonly<Record<ServerStatus, Colour>> = {
  ok: "green",
  auth: "yellow",
  offline: "red",
  error: "red",
  disabled: "dim",
};

export const runList: RunCommand = async (context) => {
  const { words } = context;
  const servers = words.length === 0 ? undefined : words;
  const opened = await context.openPort({ servers: words, onMissingConsent: "leaveOut" });
  const names = servers ?? serversIn(opened);
  // On a terminal, every server is printed as it arrives: a slow one does not delay the others.
  const isStreamed = context.form === "text" && context.columns !== undefined;
  const printRow = isStreamed ? printTable(names, opened, context) : undefined;
  const arrived = await connectServers(context, opened, {
    names,
    async onOutcome(outcome) {
      printRow?.(outcome, await costOf(outcome, opened, context));
    },
  });
  const outcomes = arrived.sort((a, b) => (a.name < b.name ? -1 : 1));
  const ready = outcomes.filter(({ status }) => status === "ok").map(({ name }) => name);
  const costs = await opened.toolport.cost({ servers: ready, signal: context.signal });
  if (context.form === "json") context.printJson(toDocument(outcomes, { ...opened, costs }, context));
  else if (context.form === "raw") for (const { name } of outcomes) context.print(plainLine(name));
  else {
    if (!isStreamed) {
      const print = printTable(names, opened, context, (name) => formatServerTokens(tokensOf(costs, name)));
      for (const outcome of outcomes) print(outcome, tokensOf(costs, outcome.name));
    }
    for (const outcome of outcomes)
      if (outcome.status !== "disabled" || servers !== undefined) explain(outcome, context);
  }
  // On a terminal the user has just declined: no error.
  if (opened.consentError !== undefined && !context.isInteractive) throw opened.consentError;
  return exitCodeFor(outcomes, servers !== undefined);
};

/**
 * The code of the first failed server if the user named servers. Otherwise only if every server failed: their common code, else
 * "unreachable".
 */
function exitCodeFor(outcomes: readonly ServerOutcome[], isNamed: boolean): number {
  // Servers that are disabled, or that the user has just declined, did not fail.
  const used = isNamed ? outcomes : outcomes.filter(({ error }) => !(error instanceof CliError));
  const failed = used.filter(({ error }) => error !== undefined);
  const [first] = failed;
  if (first === undefined || (!isNamed && failed.length < used.length)) return EXIT.ok;
  const codes = new Set(failed.map(({ error }) => exitCodeOf(error)));
  return isNamed || codes.size === 1 ? exitCodeOf(first.error) : EXIT.unreachable;
}

async function costOf(
  { name, status }: ServerOutcome,
  { toolport }: OpenedPort,
  { signal }: CommandContext,
): Promise<ServerCost> {
  return status === "ok" ? tokensOf(await toolport.cost({ servers: [name], signal }), name) : NO_TOOLS;
}

function toDocument(
  outcomes: readonly ServerOutcome[],
  { costs, ...opened }: OpenedPort & { readonly costs: ToolCosts },
  context: CommandContext,
): unknown {
  const { servers } = opened.toolport.snapshot();
  const counts: Record<ServerStatus, number> = { ok: 0, auth: 0, offline: 0, error: 0, disabled: 0 };
  for (const { status } of outcomes) counts[status] += 1;
  return {
    servers: outcomes.map(({ name, status, state, error, authUrl, toolCount, ms }) => ({
      name,
      status,
      state,
      toolCount,
      ms,
      tokens: status === "ok" ? tokensOf(costs, name).tokens : null,
      tokensShown: status === "ok" ? tokensOf(costs, name).shown : null,
      transport: servers[name]?.transport ?? null,
      protocolVersion: servers[name]?.protocolVersion ?? null,
      source: sourceOf(opened, name),
      ...(authUrl !== undefined && { authUrl }),
      ...(error !== undefined && { error: errorDocument(error, context.typed) }),
    })),
    counts,
    tokens: costs.tokens,
    tokensShown: costs.shown,
    issues: opened.config.issues,
    state: opened.statePath ?? null,
  };
}

const COLUMNS: readonly TableColumn[] = [
  { title: "SERVER" },
  { title: "STATE" },
  { title: "TOOLS", align: "right" },
  { title: "TOKENS", align: "right" },
  { title: "TIME", align: "right" },
  { title: "SOURCE" },
];

/** Prints the head of a table, and returns a function that prints one row. The widths of its columns do not depend on rows that are still missing. */
function printTable(
  names: readonly string[],
  { sources }: OpenedPort,
  context: CommandContext,
  tokens: (name: string) => string = () => "~100,000",
) {
  const places = new Map(names.map((name) => [name, cell(place(sources[name], context.cwd))]));
  const widest = (texts: Iterable<string>) => Math.max(...[...texts].map(textWidth));
  const widths = [
    widest(["SERVER", ...names.map(cell)]),
    widest(Object.keys(COLOURS)),
    "TOOLS".length,
    widest(["TOKENS", ...names.map(tokens)]),
    "100 ms".length,
    widest(["SOURCE", ...places.values()]),
  ];
  const write = (row: readonly string[], isHead: boolean) =>
    context.printPainted(formatRow(COLUMNS, row, { widths, width: context.columns, isHead }));
  const head = COLUMNS.map(({ title }) => title);
  write(head, true);
  return ({ name, status, toolCount, ms }: ServerOutcome, cost: ServerCost): void => {
    const isReady = status === "ok";
    const row = [
      cell(name),
      context.paint(COLOURS[status], status),
      isReady ? String(toolCount) : "",
      isReady ? formatServerTokens(cost) : "",
      status === "disabled" ? "" : duration(ms),
      context.paint("dim", places.get(name) ?? ""),
    ];
    write(row, false);
  };
}

const NO_TOOLS: ServerCost = { tools: 0, tokens: 0, shown: 0 };

const tokensOf = ({ servers }: ToolCosts, name: string): ServerCost =>
  Object.hasOwn(servers, name) ? servers[name]! : NO_TOOLS;

/** `deferred`: models do not get the definitions at the start. */
const formatServerTokens = ({ tokens, shown }: ServerCost): string =>
  `${shown < tokens ? "deferred " : ""}${about(tokens)}`;

function explain({ name, error, authUrl }: ServerOutcome, context: CommandContext): void {
  if (error === undefined) return;
  const { code, message, next } = errorDocument(error, context.typed);
  context.info(["", ...plainBlock(`${plainLine(name)}: ${message} (${code})`).split("\n")], "yellow");
  if (authUrl !== undefined && context.isVerbose) context.info(`  ${authUrl}`);
  if (next !== undefined) context.info(`  Try: ${next}`);
}

const duration = (ms: number): string => (ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`);

/** The shortest form of a path: relative, below `~`, or absolute. */
function place(origin: ServerOrigin | undefined, cwd: string): string {
  if (origin?.file === undefined) return "saved state";
  const { file, line, kind } = origin;
  if (file === TYPED_SOURCE) return "command line";
  const near = relative(cwd, file);
  const home = `${homedir()}${sep}`;
  const far = file.startsWith(home) ? `~${sep}${file.slice(home.length)}` : file;
  const short = near.startsWith("..") ? far : near;
  return `${short}:${line} (${kind})`;
}
