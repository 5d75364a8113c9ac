/** `toolport list`: the servers and how they are. */
import { homedir } from "node:os";
import { relative, sep } from "node:path";
import { formatTable } from "../../util/format-table.js";
import type { Colour } from "../colours.js";
import type { Invocation } from "../command.js";
import { connectServers, type ServerOutcome, type ServerStatus } from "../connect-servers.js";
import { EXIT, exitCodeOf } from "../exit-codes.js";
import { plainBlock, plainLine } from "../plain-text.js";
import type { OpenedPort, ServerOrigin, Shell } from "../shell.js";
import { cell } from "../table-cell.js";
import { errorDocument } from "../tell-error.js";

const COLOURS: Readonly<Record<ServerStatus, Colour>> = {
  ok: "green",
  auth: "yellow",
  offline: "red",
  error: "red",
  disabled: "dim",
};

export async function run({ words }: Invocation, shell: Shell): Promise<number> {
  const servers = words.length === 0 ? undefined : words;
  const opened = await shell.openPort({ ...(servers && { servers }), onRefused: "leaveOut" });
  const outcomes = await connectServers(shell, opened, servers);
  if (shell.form === "json") shell.printJson(toDocument(outcomes, opened));
  else if (shell.form === "raw") for (const { name } of outcomes) shell.print(plainLine(name));
  else {
    shell.printPainted(toTable(outcomes, opened, shell));
    for (const outcome of outcomes)
      if (outcome.status !== "disabled" || servers !== undefined) explain(outcome, shell);
  }
  // On a terminal the user has just said no.
  if (opened.refusal !== undefined && !shell.isInteractive) throw opened.refusal;
  // One bad server does not spoil the list, unless it was asked for.
  const failed = servers === undefined ? undefined : outcomes.find(({ error }) => error !== undefined);
  return failed === undefined ? EXIT.ok : exitCodeOf(failed.error);
}

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

function toTable(outcomes: readonly ServerOutcome[], { sources }: OpenedPort, shell: Shell): string[] {
  const rows = outcomes.map(({ name, status, toolCount, ms }) => [
    cell(name),
    shell.paint(COLOURS[status], status),
    status === "ok" ? String(toolCount) : "",
    status === "disabled" ? "" : duration(ms),
    shell.paint("dim", cell(place(sources[name], shell.cwd))),
  ]);
  const titles = ["SERVER", "STATE", "TOOLS", "TIME", "SOURCE"];
  const columns = titles.map((title) => ({
    title,
    ...(["TOOLS", "TIME"].includes(title) && { align: "right" as const }),
  }));
  return formatTable(columns, rows);
}

function explain({ name, error, authUrl }: ServerOutcome, shell: Shell): void {
  if (error === undefined) return;
  const { code, message, next } = errorDocument(error);
  shell.tell(["", ...plainBlock(`${plainLine(name)}: ${message} (${code})`).split("\n")], "yellow");
  if (authUrl !== undefined && shell.isVerbose) shell.tell(`  ${authUrl}`);
  if (next !== undefined) shell.tell(`  Try: ${next}`);
}

const duration = (ms: number): string => (ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`);

/** The shortest way to say where a file is. */
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
