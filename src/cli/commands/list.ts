/** `toolport list`: connects the servers and shows their state. */
import { homedir } from "node:os";
import { relative, sep } from "node:path";
import { formatTable } from "../../util/format-table.js";
import type { Colour } from "../colours.js";
import type { RunCommand } from "../command.js";
import type { CommandContext, OpenedPort, ServerOrigin } from "../command-context.js";
import { connectServers, type ServerOutcome, type ServerStatus } from "../connect-servers.js";
import { EXIT, exitCodeOf } from "../exit-codes.js";
import { errorDocument } from "../format-error.js";
import { cell, plainBlock, plainLine } from "../plain-text.js";

const COLOURS: Readonly<Record<ServerStatus, Colour>> = {
  ok: "green",
  auth: "yellow",
  offline: "red",
  error: "red",
  disabled: "dim",
};

export const listCommand: RunCommand = async ({ words }, context) => {
  const servers = words.length === 0 ? undefined : words;
  const opened = await context.openPort({ ...(servers && { servers }), onMissingConsent: "leaveOut" });
  const outcomes = await connectServers(context, opened, servers);
  if (context.form === "json") context.printJson(toDocument(outcomes, opened));
  else if (context.form === "raw") for (const { name } of outcomes) context.print(plainLine(name));
  else {
    context.printPainted(toTable(outcomes, opened, context));
    for (const outcome of outcomes)
      if (outcome.status !== "disabled" || servers !== undefined) explain(outcome, context);
  }
  // On a terminal the user has just declined: no error.
  if (opened.consentError !== undefined && !context.isInteractive) throw opened.consentError;
  // A failed server changes the exit code only if the user named servers.
  const failed = servers === undefined ? undefined : outcomes.find(({ error }) => error !== undefined);
  return failed === undefined ? EXIT.ok : exitCodeOf(failed.error);
};

function toDocument(outcomes: readonly ServerOutcome[], opened: OpenedPort): unknown {
  const { servers } = opened.toolport.snapshot();
  const counts: Record<ServerStatus, number> = { ok: 0, auth: 0, offline: 0, error: 0, disabled: 0 };
  for (const { status } of outcomes) counts[status] += 1;
  return {
    servers: outcomes.map(({ name, status, state, error, authUrl, toolCount, ms }) => ({
      ...{ name, status, state, toolCount, ms },
      transport: servers[name]?.transport ?? null,
      protocolVersion: servers[name]?.protocolVersion ?? null,
      source: toSource(opened.sources[name]),
      ...(authUrl !== undefined && { authUrl }),
      ...(error !== undefined && { error: errorDocument(error) }),
    })),
    counts,
    issues: opened.config.issues,
    state: opened.statePath ?? null,
  };
}

const toSource = (origin: ServerOrigin | undefined): unknown => {
  if (origin?.file === undefined) return { kind: "store" };
  const { file, line, kind } = origin;
  return { kind, file, line };
};

function toTable(
  outcomes: readonly ServerOutcome[],
  { sources }: OpenedPort,
  context: CommandContext,
): string[] {
  const rows = outcomes.map(({ name, status, toolCount, ms }) => [
    cell(name),
    context.paint(COLOURS[status], status),
    status === "ok" ? String(toolCount) : "",
    status === "disabled" ? "" : duration(ms),
    context.paint("dim", cell(place(sources[name], context.cwd))),
  ]);
  const titles = ["SERVER", "STATE", "TOOLS", "TIME", "SOURCE"];
  const columns = titles.map((title) => ({
    title,
    ...(["TOOLS", "TIME"].includes(title) && { align: "right" as const }),
  }));
  return formatTable(columns, rows);
}

function explain({ name, error, authUrl }: ServerOutcome, context: CommandContext): void {
  if (error === undefined) return;
  const { code, message, next } = errorDocument(error);
  context.info(["", ...plainBlock(`${plainLine(name)}: ${message} (${code})`).split("\n")], "yellow");
  if (authUrl !== undefined && context.isVerbose) context.info(`  ${authUrl}`);
  if (next !== undefined) context.info(`  Try: ${next}`);
}

const duration = (ms: number): string => (ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`);

/** The shortest form of a path: relative, below `~`, or absolute. */
function place(origin: ServerOrigin | undefined, cwd: string): string {
  if (origin?.file === undefined) return "saved state";
  const { file, line, kind } = origin;
  const near = relative(cwd, file);
  const home = `${homedir()}${sep}`;
  const short = near.startsWith("..")
    ? file.startsWith(home)
      ? `~${sep}${file.slice(home.length)}`
      : file
    : near;
  return `${short}:${line} (${kind})`;
}
