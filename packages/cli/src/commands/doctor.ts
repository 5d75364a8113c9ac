/** `toolport doctor`: checks files, servers, logins and state, and prints what to do. */

import { ConfigError, ToolportError } from "@toolport/base";
import type { LoadedConfig } from "@toolport/config";
import { parseServerEntry } from "@toolport/core/internal";
import type { Store } from "@toolport/stores";
import type { CommandContext, CommandSpec, LoadedServers, RunCommand, WrittenServers } from "../command.js";
import { OPTIONAL_SERVER, TYPED_OPTIONS } from "../command-options.js";
import { checkConnections } from "../doctor/check-catalog.js";
import {
  checkCommand,
  checkConfig,
  checkDurability,
  checkNode,
  checkOAuth,
  checkStore,
  type Finding,
  type FindingStatus,
  findingsOf,
  probeAddress,
  readFiles,
} from "../doctor/checks.js";
import { CliError, EXIT, exitCodeOf, nextCommand } from "../errors.js";
import { unknownServer } from "../load-servers.js";
import { type Colour, plainLine, plainText, plural } from "../plain-text.js";

export const doctorCommand: CommandSpec = {
  name: "doctor",
  summary: "Check files, servers, logins and state, and suggest fixes",
  group: "look",
  positionals: [OPTIONAL_SERVER],
  options: TYPED_OPTIONS,
  takesTyped: "server",
  examples: [
    ["toolport doctor", "check everything"],
    ["toolport doctor weather --json", "one server, as JSON"],
  ],
  load: async () => (await import("./doctor.js")).runDoctor,
};

const MARKS: Readonly<Record<FindingStatus, readonly [mark: string, colour: Colour]>> = {
  ok: ["✔", "green"],
  warn: ["!", "yellow"],
  fail: ["✘", "red"],
  skip: ["-", "dim"],
};

export const runDoctor: RunCommand = async (context) => {
  const { findings, consentError } = await checkAll(context, context.words[0]);
  const failed = findings.filter(({ status }) => status === "fail");
  const exitCode = Math.max(EXIT.ok, ...failed.map((finding) => finding.exitCode ?? EXIT.other));
  const next = adviceOf(findings);
  const summary = { ok: 0, warn: 0, fail: 0, skip: 0 };
  for (const { status } of findings) summary[status] += 1;
  if (context.form === "json") {
    const checks = findings.map(({ exitCode: _code, ...finding }) => finding);
    context.printJson({ ok: failed.length === 0, summary, checks, next });
    if (consentError !== undefined) throw consentError;
    return exitCode;
  }
  for (const server of new Set(findings.map((finding) => finding.server))) {
    const own = findings.filter((finding) => finding.server === server);
    const title = context.paint("bold", plainLine(server ?? "This machine"));
    context.printPainted([title, ...own.flatMap((finding) => linesOf(finding, context)), ""]);
  }
  const { ok, warn, fail, skip } = summary;
  context.print(`${ok} passed, ${plural(warn, "warning")}, ${fail} failed, ${skip} skipped`);
  if (next.length === 0) context.print("No action needed.");
  else
    context.print(
      ["What to do:", ...next.map((step, index) => `  ${index + 1}. ${plainLine(step)}`)].join("\n"),
    );
  // Without a terminal the user was not asked: report the missing consent first.
  if (consentError !== undefined && !context.isInteractive) throw consentError;
  return exitCode;
};

function linesOf({ check, status, message, next }: Finding, { paint }: CommandContext): string[] {
  const [mark, colour] = MARKS[status];
  const [first = "", ...rest] = plainText(message).split("\n");
  return [
    `  ${paint(colour, mark)} ${check.padEnd(8)} ${first}`,
    ...rest.map((line) => `             ${line}`),
    ...(next === undefined || status === "ok" ? [] : [paint("dim", `             → ${plainLine(next)}`)]),
  ];
}

/** Advice without duplicates, failures first. */
function adviceOf(findings: readonly Finding[]): string[] {
  const steps = (["fail", "warn"] as const).flatMap((wanted) =>
    findings.flatMap(({ status, server, next, message }) => {
      if (status !== wanted || next === undefined) return [];
      const [about = ""] = message.split("\n");
      return [`${server === undefined ? "" : `${server}: `}${next} (${about})`];
    }),
  );
  return [...new Set(steps)];
}

/** `consentError`: servers were not checked because the user has not agreed to them. */
async function checkAll(context: CommandContext, only: string | undefined) {
  return context.progress("Reading the configuration", async (update) => {
    const written = await readFiles(context);
    const state = await checkStore(context);
    const names = chooseServers(written, only);
    // Asks for consent to servers of project files before it expands them.
    const { config, leftOut, consentError } = await context.loadServers(names).catch(unreadable);
    const store = state.status === "fail" ? undefined : (await context.openStore()).store;
    const durability = store === undefined ? [] : await checkDurability(store);
    const general = [checkNode(), state, ...durability, ...checkConfig(written, config, only)];
    const skipped = [...leftOut].map(([server, error]) => leftOutFinding(server, error, written));
    const servers = names.filter((name) => Object.hasOwn(config?.mcpServers ?? {}, name));
    if (config === undefined || servers.length === 0)
      return { findings: [...general, ...skipped], consentError };
    update("Checking programs and URLs");
    const each = await Promise.all(servers.map((name) => checkServer(name, { config, store, context })));
    update("Connecting");
    const connections = await connect(servers, config, context);
    return { findings: [...general, ...skipped, ...each.flat(), ...connections], consentError };
  });
}

/** `readFiles` has already reported an unreadable file. */
function unreadable(error: unknown): Partial<LoadedServers> & Pick<LoadedServers, "leftOut"> {
  if (error instanceof ConfigError) return { leftOut: new Map() };
  throw error;
}

function leftOutFinding(server: string, error: CliError, { servers }: WrittenServers): Finding {
  const { file, line } = servers.get(server)!.source;
  if (error.code === "DISABLED") return findingsOf("connect", server).skip(`Disabled in ${file}:${line}`);
  const { message, next, exitCode } = error;
  return findingsOf("trust", server).fail(`Not checked: requires your consent. ${message}`, next, exitCode);
}

function chooseServers(written: WrittenServers, only: string | undefined): string[] {
  const names = [...written.servers.keys()];
  if (only === undefined) return names;
  if (names.includes(only)) return [only];
  // Its entry is invalid, which is reported with its file.
  if (written.issues.some(({ path }) => path.split(".").includes(only))) return [];
  throw unknownServer(only, names, written);
}

async function checkServer(
  name: string,
  { config, store, context }: { config: LoadedConfig; store: Store | undefined; context: CommandContext },
): Promise<Finding[]> {
  const server = parseServerEntry(name, config.mcpServers[name]);
  const source = config.sources[name];
  const where = source === undefined ? "its configuration" : `${source.file}:${source.line}`;
  if (!server.enabled) return [findingsOf("connect", name).skip(`Disabled in ${where}`)];
  switch (server.kind) {
    case "stdio":
    case "docker":
      return checkCommand(server, context.env, where);
    case "websocket":
      return [...(await probeAddress(server, context.signal)).findings];
    case "http":
    case "sse": {
      const { findings, answer } = await probeAddress(server, context.signal);
      // Without a response, the authorization server is unknown.
      const login = answer === undefined ? [] : await checkOAuth(server, answer, store);
      return [...findings, ...login];
    }
    default:
      return [];
  }
}

async function connect(
  names: readonly string[],
  config: LoadedConfig,
  context: CommandContext,
): Promise<Finding[]> {
  const enabled = names.filter((name) => parseServerEntry(name, config.mcpServers[name]).enabled);
  if (enabled.length === 0) return [];
  try {
    return await checkConnections(await context.openPort({ servers: enabled }), enabled, context);
  } catch (error) {
    if (context.signal.aborted || !(error instanceof CliError || ToolportError.isInstance(error)))
      throw error;
    const message = error instanceof CliError ? error.message : error.what;
    const exitCode = exitCodeOf(error) || EXIT.other;
    return [findingsOf("connect").fail(message, nextCommand(error), exitCode)];
  }
}
