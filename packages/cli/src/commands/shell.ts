/** `toolport shell`: runs commands in one session, typed at a terminal or read from stdin. */
import { createInterface } from "node:readline";
import {
  type CommandContext,
  type CommandSpec,
  type Invocation,
  type OpenedPort,
  type OpenPortOptions,
  type RunCommand,
  toOptionValues,
} from "../command.js";
import { commandHelp, flag, OPTIONAL_SERVER, programHelp, TYPED_OPTIONS } from "../command-options.js";
import { serversIn, serversOf } from "../connect-servers.js";
import type { ShellParts } from "../create-command-context.js";
import { CliError, EXIT, exitCodeOf, formatError, Interruption } from "../errors.js";
import { unknownServer } from "../load-servers.js";
import { executeCommand, parseCommandLine, readTypedServers } from "../parse-command-line.js";
import { choosePaint, plural } from "../plain-text.js";
import { elicitOnTerminal, ShellPrompt } from "../questions.js";
import { readWords } from "../typed-servers.js";
import { candidatesOf, completeLine, type LookUp, plainCandidates } from "./completion.js";

export const shellCommand: CommandSpec = {
  name: "shell",
  summary: "Run several commands in one session, so that servers keep their state",
  group: "use",
  positionals: [{ ...OPTIONAL_SERVER, summary: "Only these servers (names or URLs)", rest: true }],
  options: {
    "keep-going": flag("Without a terminal: continue after a line that fails"),
    ...TYPED_OPTIONS,
  },
  takesTyped: "servers",
  examples: [
    ["toolport shell", "with history, completion by Tab, Ctrl-C for the running call, Ctrl-D to end"],
    ["toolport shell -- node server.js", "a server that is not configured"],
    ["toolport shell < script.txt", "one command in each line"],
  ],
  load: async () => (await import("./shell.js")).runShell,
};

export const runShell: RunCommand = async (context) => {
  const { stdin, stderr } = context.streams;
  const isTerminal = stdin.isTTY === true && stderr.isTTY === true;
  const session: ShellSession = new ShellSession(context, (question, options) =>
    prompt.ask(question, { ...options, signal: session.signal }),
  );
  const prompt = new ShellPrompt({
    input: stdin,
    output: stderr,
    complete: (line) => completeInSession(session, line),
    onInterrupt: () => session.interrupt(),
  });
  await session.open();
  if (!isTerminal) return runScript(session, context);
  context.onExit(() => prompt.close());
  const count = serversIn(session.port).length;
  context.info(`${plural(count, "server")}. Tab completes, help lists the commands, Ctrl-D ends.`, "dim");
  for (let line = await prompt.next(); line !== undefined; line = await prompt.next())
    if ((await session.run(line)) === undefined) break;
};

/** Ends at the first line that fails, with its exit code. `--keep-going`: runs all lines, and returns the first such code. */
async function runScript(session: ShellSession, context: CommandContext): Promise<number> {
  const lines = createInterface({ input: context.streams.stdin, crlfDelay: Number.POSITIVE_INFINITY });
  context.onExit(() => lines.close());
  let failed: number = EXIT.ok;
  for await (const line of lines) {
    const code = await session.run(line);
    if (code === undefined) break;
    if (failed === EXIT.ok) failed = code;
    if (failed !== EXIT.ok && !context.flag("keep-going")) break;
  }
  return failed;
}

/** Commands that do not end by themselves, or that change the configuration which the session has read. */
const OUTSIDE: ReadonlySet<string> = new Set([
  ...["shell", "serve", "console", "demo", "watch", "completion", "__complete"],
  ...["add", "remove", "enable", "disable", "import"],
]);
/** Options of the shell that apply to all of its lines. */
const INHERITED = ["json", "output", "timeout", "yes", "quiet", "verbose", "no-color"];

export class ShellSession {
  readonly commands: readonly CommandSpec[];
  readonly #context: CommandContext;
  readonly #ask: ShellParts["askOnTerminal"];
  #opened: OpenedPort | undefined;
  #running: AbortController | undefined;
  /** The context of the running line. */
  #current: CommandContext | undefined;

  constructor(context: CommandContext, ask: ShellParts["askOnTerminal"]) {
    this.#context = context;
    this.#ask = ask;
    this.commands = context.commands.filter(({ name }) => !OUTSIDE.has(name));
  }

  get port(): OpenedPort {
    return this.#opened!;
  }

  /** The signal of the running line. */
  get signal(): AbortSignal {
    return this.#running?.signal ?? this.#context.signal;
  }

  /** Opens the port. It connects nothing before a line needs a server. */
  async open(): Promise<OpenedPort> {
    const context = this.#context;
    this.#opened = await context.openPort({
      servers: context.words,
      onMissingConsent: "leaveOut",
      asksOnTerminal: false,
      // A question of a server belongs to the line that runs.
      options: elicitOnTerminal({
        ...context,
        ask: async (question, options) => this.#current?.ask(question, options),
        info: (lines, colour) => this.#current?.info(lines, colour),
      }),
    });
    return this.#opened;
  }

  /** Cancels the running line. */
  interrupt(): void {
    this.#running?.abort(new Interruption(130));
  }

  /** Runs one line. Errors are printed; resolves with the exit code, or undefined if the line ends the shell. */
  async run(line: string): Promise<number | undefined> {
    const context = this.#context;
    if (/^\s*(?:#|$)/.test(line)) return EXIT.ok;
    let invocation: Invocation | undefined;
    this.#running = new AbortController();
    try {
      const words = toCommand(readWords(line, { keepsParentheses: true }), context.commands);
      if (words[0] === "exit" || words[0] === "quit") return undefined;
      const parsed = parseCommandLine(words, context.commands);
      if (parsed.wants !== "run") {
        const { command = undefined } = parsed.wants === "help" ? parsed : {};
        const { columns } = context;
        context.print(command ? commandHelp(command, columns) : programHelp(this.commands, columns));
        return EXIT.ok;
      }
      invocation = this.#inherit(parsed.invocation);
      const { name } = invocation.command;
      if (OUTSIDE.has(name))
        throw new CliError(
          `${name} is not available in a shell. End the shell with Ctrl-D first`,
          `toolport ${line.trim().replace(/^toolport\s+/, "")}`,
          { code: "OUTSIDE_SHELL" },
        );
      invocation = await readTypedServers(invocation, context.cwd);
      return await executeCommand(invocation, {
        line: { ...context.streams, env: context.env, cwd: context.cwd },
        watch: { signal: AbortSignal.any([this.signal, context.signal]), end: () => this.interrupt() },
        shell: this.#shellParts(invocation),
      });
    } catch (error) {
      // A signal for the whole shell.
      if (context.signal.aborted) throw context.signal.reason;
      this.#report(error, invocation);
      return exitCodeOf(error);
    } finally {
      this.#running = undefined;
      this.#current = undefined;
    }
  }

  #inherit(invocation: Invocation): Invocation {
    const { options } = this.#context;
    const isFormGiven = ["json", "output"].some((name) => invocation.options[name] !== undefined);
    const inherited = INHERITED.filter((name) => !(isFormGiven && ["json", "output"].includes(name)));
    const own = Object.fromEntries(inherited.map((name) => [name, options[name]]));
    const values = Object.entries(invocation.options).filter(([, value]) => value !== undefined);
    return { ...invocation, ...toOptionValues({ ...own, ...Object.fromEntries(values) }) };
  }

  #shellParts(invocation: Invocation): ShellParts {
    const context = this.#context;
    // A server that is typed in a line is not in the session. Its port is closed after the line.
    const isTyped = invocation.typed !== undefined;
    return {
      askOnTerminal: this.#ask,
      onStart: (current) => {
        this.#current = current;
      },
      reusePort: async (wanted) => (isTyped || wanted?.isSpecial === true ? undefined : this.#reuse(wanted)),
      methods: {
        openStore: () => context.openStore(),
        async readAllInput(): Promise<never> {
          throw new CliError("- is not available in a shell, which reads its own input");
        },
        ...(!isTyped && {
          readServers: () => context.readServers(),
          loadServers: (names?: readonly string[], options?: { mayAsk?: boolean }) =>
            context.loadServers(names, options),
        }),
      },
    };
  }

  /** The port of the session. Throws if it does not have a server that the command names. */
  #reuse({ servers, principal }: OpenPortOptions = {}): OpenedPort {
    const opened = this.port;
    const all = serversIn(opened);
    const asked = typeof servers === "function" ? servers(all) : servers;
    for (const name of asked ?? []) if (!all.includes(name)) throw unknownServer(name, all, opened.config);
    return principal === undefined ? opened : { ...opened, toolport: opened.toolport.as(principal) };
  }

  #report(error: unknown, invocation: Invocation | undefined): void {
    const { env, streams, options: shared } = this.#context;
    const { stderr } = streams;
    const options = { ...shared, ...invocation?.options };
    const isJson = options["json"] === true || options["output"] === "json";
    const paint = choosePaint(stderr, env, options["no-color"] === true);
    const isVerbose = options["verbose"] === true;
    if (error instanceof Interruption) stderr.write("Cancelled\n");
    else stderr.write(`${formatError(error, { isJson, isVerbose, paint, typed: invocation?.typed })}\n`);
  }
}

/** `weather.forecast city=Oslo` is short for `call weather.forecast city=Oslo`. `toolport` in front of a command is ignored. */
export function toCommand(words: readonly string[], commands: readonly CommandSpec[]): readonly string[] {
  const own = words[0] === "toolport" && words.length > 1 ? words.slice(1) : words;
  const [first = ""] = own;
  const isCommand = commands.some(({ name }) => name === first) || first.startsWith("-");
  return !isCommand && /[.(]|__/.test(first) ? ["call", ...own] : own;
}

const CONNECT_TIMEOUT_MS = 5_000;

/** Returns the candidates for the last word of the line, and that word. A server whose name and dot were typed is connected. */
export async function completeInSession(
  session: ShellSession,
  line: string,
): Promise<[candidates: string[], replaced: string]> {
  const at = line.search(/\S*$/);
  const current = line.slice(at);
  const before = readWords(line.slice(0, at));
  const words = toCommand([...before, current], session.commands);
  await connectNamed(session, words);
  const candidates = await completeLine(words, session.commands, lookUpIn(session));
  // A line may begin with a tool instead of a command.
  const isFirst = words.length === 1;
  const tools = isFirst ? await lookUpIn(session)("tool", []) : [];
  const values = [...candidates, ...tools]
    .map(({ value }) => value)
    .filter((value) => value.startsWith(current));
  const unique = [...new Set(values)];
  const [only] = unique;
  if (only === undefined || unique.length > 1 || /[.=]$/.test(only)) return [unique, current];
  return [[`${only} `], current];
}

async function connectNamed(session: ShellSession, words: readonly string[]): Promise<void> {
  const { toolport, leftOut } = session.port;
  const [server] = words.flatMap((word) => serversOf(word, serversIn(session.port)) ?? []);
  if (server === undefined || leftOut.has(server)) return;
  const state = toolport.snapshot().servers[server]?.state;
  if (state === "idle" || state === undefined)
    await toolport.connect({ servers: [server], timeoutMs: CONNECT_TIMEOUT_MS }).catch(() => {});
}

const lookUpIn =
  ({ port }: ShellSession): LookUp =>
  async (kind, words) =>
    candidatesOf(kind, words, {
      snapshot: port.toolport.snapshot(),
      servers: plainCandidates(serversIn(port)),
    });
