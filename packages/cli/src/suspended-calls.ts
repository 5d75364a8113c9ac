/** Calls that wait for a person: the options that make them, how they are read, shown and answered. */

import { SuspensionError, ToolportError } from "@toolport/base";
import {
  createToolport,
  type ElicitationAnswer,
  type ElicitationRequest,
  type ResumeInput,
  type SuspendCallOptions,
  type Suspended,
  type SuspendedForLogin,
  type Toolport,
  type ToolportOptions,
} from "@toolport/core";
import { type CommandContext, type Invocation, locationOptions, type OpenedStore } from "./command.js";
import { CliError, EXIT, usageError } from "./errors.js";
import { oneLine, plainLine } from "./plain-text.js";
import { askForm, describePage, type Form, showRequest } from "./questions.js";
import { shellWord } from "./shell-words.js";

/** Name of the answering person or program in events and audit logs. */
const ANSWERED_BY = "cli";

/** The user that the command acts for; undefined for the plain port. */
export function principalOf(context: CommandContext): string | undefined {
  const name = context.text("principal");
  if (name === undefined || name.trim() !== "") return name;
  throw usageError(context.command.name, "--principal requires the name of a user");
}

export const answeredByOf = (context: CommandContext): string => context.text("answered-by") ?? ANSWERED_BY;

/** How `call` suspends. */
export interface SuspendWish {
  readonly suspend: Exclude<SuspendCallOptions["suspend"], true>;
  /** Options of the port. */
  readonly options: Pick<ToolportOptions, "approve">;
}

/** Undefined without `--suspend`. */
export function readSuspend(context: CommandContext): SuspendWish | undefined {
  const [key, ttl, when] = ["key", "ttl", "approval"].map((name) => context.text(name));
  if (!context.flag("suspend")) {
    const [extra] = ["key", "ttl", "approval"].filter((name) => context.text(name) !== undefined);
    if (extra === undefined) return undefined;
    throw usageError("call", `--${extra} requires --suspend`);
  }
  return {
    suspend: { ...(key !== undefined && { key }), ...(ttl !== undefined && { ttlMs: readDuration(ttl) }) },
    options: when === undefined ? {} : { approve: { when: when as "unsafe" | "always" } },
  };
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const MAX_DAYS = 30;

function readDuration(text: string): number {
  const [, count = "", unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?)([smhd])$/.exec(text) ?? [];
  const ms = Number(count) * (UNITS[unit] ?? 0);
  if (ms >= 1 && ms <= MAX_DAYS * UNITS["d"]!) return Math.round(ms);
  throw new CliError(
    `--ttl requires a time of at most ${MAX_DAYS} days with a unit: 90s, 30m, 36h or 2d`,
    "toolport call … --suspend --ttl 2d",
  );
}

/** @throws CliError `NOT_OFFERED` if suspended calls would be lost at the end of the command */
export function requireState({ statePath }: Pick<OpenedStore, "statePath">, { command }: Invocation): void {
  if (statePath !== undefined) return;
  throw new CliError(
    "State is in memory, so a suspended call is lost when the command ends. Use a state file: remove --no-state and TOOLPORT_STATE=off",
    `toolport ${command.name} --state <path> …`,
    { code: "NOT_OFFERED" },
  );
}

const WAITS_FOR = { input: "an answer", approval: "an approval", login: "a login" } as const;
const MAX_SHOWN = 60;

/** Prints a call that waits, with its token. Returns the exit code. */
export function showSuspended(call: Suspended, context: CommandContext): number {
  const principal = principalOf(context);
  if (context.form === "json") context.printJson({ ...call, ...(principal !== undefined && { principal }) });
  else if (context.form === "raw") context.print(call.token);
  else {
    const user = principal === undefined ? [] : ["--principal", principal];
    const options = [...user, ...locationOptions(context)].map((word) => ` ${shellWord(word)}`).join("");
    context.print(
      [
        ...describeCall(call, principal),
        ...describeQuestions(call, principal),
        `Token: ${call.token}`,
        `Resume it: toolport resume ${call.token}${options}`,
      ].join("\n"),
    );
  }
  return EXIT.suspended;
}

/** What waits, for whom and until when; each line is escaped. */
const describeCall = (call: Suspended, principal: string | undefined): string[] => [
  `${plainLine(call.tool)} waits for ${WAITS_FOR[call.reason]}${principal === undefined ? "" : ` of ${plainLine(principal)}`}`,
  `  Server: ${plainLine(call.server)}`,
  `  Arguments: ${plainLine(JSON.stringify(call.args))}`,
  `  Expires: ${call.expiresAt} (the server may expire it earlier)`,
];

/** What the person is asked; each line is escaped. */
function describeQuestions(call: Suspended, principal: string | undefined): string[] {
  switch (call.reason) {
    case "approval":
      return ["  Asked: may it be called?"];
    case "login":
      return describeLogin(call, principal);
    default:
      return Object.entries(call.requests).flatMap(([key, request]) => [
        `  Asked (${plainLine(key)}): ${plainLine(request.message)}`,
        ...(request.mode === "url" ? describePage(request) : describeFields(request)).map(
          (line) => `    ${plainLine(line)}`,
        ),
      ]);
  }
}

function describeFields({ requestedSchema: { properties, required = [] } }: Form): string[] {
  return Object.entries(properties).map(
    ([name, { type }]) => `${name}: ${type}, ${required.includes(name) ? "required" : "optional"}`,
  );
}

/** Where the user can log in; each line is escaped. */
const describeLogin = (
  { server, requests: { authUrl } }: SuspendedForLogin,
  principal: string | undefined,
): string[] => [
  `  Log in with: toolport auth ${shellWord(server)}${principal === undefined ? "" : ` --principal ${shellWord(principal)}`}`,
  ...(authUrl === undefined ? [] : [`  Or at: ${plainLine(authUrl)}`]),
];

/** Prints all calls that wait. */
export function listSuspended(calls: readonly Suspended[], context: CommandContext): void {
  const principal = principalOf(context);
  const whose = principal === undefined ? "" : ` for ${principal}`;
  if (context.form === "text" && calls.length > 0) context.info(`Calls that wait${whose}`, "dim");
  context.printList({
    document: { ...(principal !== undefined && { principal }), suspended: calls },
    names: calls.map(({ token }) => token),
    titles: ["TOOL", "SERVER", "WAITS FOR", "ARGUMENTS", "EXPIRES", "TOKEN"],
    rows: calls.map((call) => [
      ...[call.tool, call.server, WAITS_FOR[call.reason]],
      ...[oneLine(JSON.stringify(call.args), MAX_SHOWN), call.expiresAt, call.token],
    ]),
    none: `No calls wait${whose}`,
  });
}

type Terminal = Pick<CommandContext, "ask" | "info">;

/** Undefined if the person wants to decide later: Enter, or Ctrl-D. */
export async function askDecision(
  context: Terminal,
  call: Suspended,
  principal: string | undefined,
): Promise<Pick<ResumeInput, "answers" | "approve"> | undefined> {
  context.info(describeCall(call, principal), "yellow");
  switch (call.reason) {
    case "approval": {
      const choice = await choose(context, "Approve? [y = yes, n = no, Enter = later] ", ["y", "n"]);
      return choice === undefined ? undefined : { approve: choice === "y" };
    }
    case "login": {
      context.info(describeLogin(call, principal));
      const choice = await choose(context, "Have you logged in? [y = continue, Enter = later] ", ["y"]);
      return choice === undefined ? undefined : {};
    }
    default: {
      const answers: [string, ElicitationAnswer][] = [];
      for (const [key, request] of Object.entries(call.requests)) {
        const answer = await askAnswer(context, call.server, request);
        if (answer === undefined) return undefined;
        answers.push([key, answer]);
      }
      return { answers: Object.fromEntries(answers) };
    }
  }
}

async function askAnswer(
  context: Terminal,
  server: string,
  request: ElicitationRequest,
): Promise<ElicitationAnswer | undefined> {
  showRequest(context, request, server);
  const isPage = request.mode === "url";
  const question = isPage ? "Have you opened it? [y = yes," : "Answer? [y = fill in,";
  const rest = "n = decline, c = cancel, Enter = later] ";
  const choice = await choose(context, `${question} ${rest}`, ["y", "n", "c"]);
  if (choice === undefined) return undefined;
  if (choice !== "y") return { action: choice === "n" ? "decline" : "cancel" };
  if (isPage) return { action: "accept" };
  const content = await askForm(context, request.requestedSchema);
  return content && { action: "accept", content };
}

/** The first letter of the answer; asks again until it is one of the letters. Undefined for Enter and Ctrl-D. */
async function choose(
  { ask }: Terminal,
  question: string,
  letters: readonly string[],
): Promise<string | undefined> {
  for (;;) {
    const letter = (await ask(question))?.trim().slice(0, 1).toLowerCase();
    if (letter === undefined || letter === "") return undefined;
    if (letters.includes(letter)) return letter;
  }
}

/** A port without servers, which can list and discard calls, and send none. */
export async function openWaitingCalls(context: CommandContext): Promise<Toolport> {
  const opened = await context.openStore();
  requireState(opened, context);
  const toolport = createToolport({ mcpServers: {}, store: opened.store, restore: false });
  context.onExit(() => toolport.close());
  const principal = principalOf(context);
  return principal === undefined ? toolport : toolport.as(principal);
}

/** The call with this token. `call` is undefined if it does not wait: its outcome is unknown. */
export async function findWaiting(
  waiting: Toolport,
  token: string,
  signal: AbortSignal,
): Promise<{ server: string; tool: string; call: Suspended | undefined }> {
  const call = (await waiting.suspended()).find((candidate) => candidate.token === token);
  if (call !== undefined) return { server: call.server, tool: call.tool, call };
  // Without servers nothing can be sent. The error names the server of the call, or says that there is no such call.
  const error: unknown = await waiting.resume(token, {}, { signal }).catch((reason: unknown) => reason);
  signal.throwIfAborted();
  const isUnknown = error instanceof SuspensionError && error.code === "SUSPENSION_UNKNOWN";
  if (isUnknown || !ToolportError.isInstance(error) || error.server === undefined) throw error;
  return { server: error.server, tool: error.tool ?? "", call: undefined };
}

/** The token of the command line; `-`: from stdin, or typed without echo. */
export async function readToken(context: CommandContext): Promise<string> {
  const [word = ""] = context.words;
  if (word !== "-") return word;
  const text = context.isInteractive
    ? await context.ask("Token: ", { isSecret: true })
    : await context.readAllInput();
  const token = (text ?? "").trim();
  if (token !== "") return token;
  throw usageError(context.command.name, "No token was given on stdin");
}
