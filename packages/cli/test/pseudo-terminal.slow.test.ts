/** The command line in a pseudo-terminal: the shell, Ctrl-C, secrets, questions of servers, narrow terminals. */
import { fileURLToPath } from "node:url";
import { createTestServer } from "@toolport/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CliSandbox, useProgram } from "../../../test/support/cli-sandbox.js";
import { hasTerminal, openTerminal, type Terminal } from "../../../test/support/terminal.js";
import { waitFor } from "../../../test/support/wait-for.js";

const createSandbox = useProgram();

const lean = fileURLToPath(new URL("../../../test/fixtures/servers/stdio-lean.mjs", import.meta.url));
const DESCRIPTION = "Asks for a name and a number, and repeats both of them in a sentence of its own";
const server = createTestServer({
  era: "legacy",
  tools: {
    ask: {
      description: DESCRIPTION,
      handler: async (_args, { server: own }) => {
        const { action, content } = await own.elicitInput({
          mode: "form",
          message: "Who are you?",
          requestedSchema: {
            type: "object",
            properties: { name: { type: "string" }, wise: { type: "boolean" } },
            required: ["name", "wise"],
          },
        });
        return `${action} ${JSON.stringify(content)}`;
      },
    },
  },
});

/** The screen without colours, cursor movements and erased parts of lines. */
const plain = ({ shown }: Terminal): string =>
  shown.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, "").replace(/\r(?!\n)/g, "\n");

describe.skipIf(!hasTerminal)("in a pseudo-terminal (needs `script`)", () => {
  let sandbox: CliSandbox;
  beforeAll(async () => {
    sandbox = createSandbox();
    await sandbox.write("home/.config/toolport/toolport.json", {
      mcpServers: {
        local: { command: process.execPath, args: [lean] },
        asker: { url: (await server.http()).entry.url },
      },
    });
  });
  afterAll(async () => {
    sandbox[Symbol.dispose]();
    await server.close();
  });

  /** Runs the program in a terminal of this width, then prints its exit code and the settings of the terminal. */
  async function use(
    args: readonly string[],
    columns: number,
    run: (terminal: Terminal) => Promise<void>,
  ): Promise<Terminal> {
    const script = `trap : INT; stty cols ${columns}; "$@"; code=$?; stty -a; echo "exit code $code"`;
    const line = ["sh", "-c", script, "sh", process.execPath, sandbox.main, ...args];
    const terminal = openTerminal(line, { cwd: sandbox.project, env: sandbox.env });
    try {
      await run(terminal);
      await terminal.waitForText(/exit code \d/);
      // The terminal settings are restored.
      expect(terminal.shown).toMatch(/ echo /);
      expect(terminal.shown).toMatch(/ icanon/);
      return terminal;
    } finally {
      terminal.kill();
    }
  }

  const prompts = (terminal: Terminal) => plain(terminal).split("toolport> ").length - 1;
  const nextPrompt = async (terminal: Terminal, count: number) => {
    await waitFor(() => prompts(terminal) >= count, { label: () => plain(terminal) });
  };
  const pidsIn = (terminal: Terminal): string[] => plain(terminal).match(/^\d+$/gm) ?? [];

  test("the shell keeps servers, has history, and Ctrl-C cancels a call but not the shell", async () => {
    let pid = 0;
    await use(["shell"], 100, async (terminal) => {
      await terminal.waitForText("2 servers.");
      terminal.type("call local.pid\r");
      await waitFor(() => pidsIn(terminal).length === 1, { label: () => plain(terminal) });
      pid = Number(pidsIn(terminal)[0]);
      // The call is cancelled, the process of the server goes on.
      terminal.type("call local.slow ms=600000\r");
      await terminal.waitForText("local.slow");
      await terminal.waitForText(/⠋|⠙|⠹|⠸|⠼|⠴|⠦|⠧|⠇|⠏/);
      terminal.type("\u0003");
      await terminal.waitForText("Cancelled");
      // Arrow up twice: the first call again.
      terminal.type("\u001b[A\u001b[A\r");
      await waitFor(() => pidsIn(terminal).length === 2, { label: () => plain(terminal) });
      expect(pidsIn(terminal)).toEqual([String(pid), String(pid)]);
      // Ctrl-C at the prompt clears the line.
      terminal.type("nonsense\u0003");
      await terminal.waitForText("^C");
      terminal.type("\u0003");
      await terminal.waitForText("Ctrl-D ends the shell");
      terminal.type("\u0004");
      await terminal.waitForText("exit code 0");
    });
    // Nothing is left behind.
    await waitFor(() => {
      try {
        process.kill(pid, 0);
        return false;
      } catch {
        return true;
      }
    });
  });

  test("Tab completes commands, servers, tools and arguments", async () => {
    await use(["shell", "local"], 100, async (terminal) => {
      await terminal.waitForText("1 server.");
      // Readline takes a tab in a longer text as pasted.
      const complete = async (text: string, expected: string) => {
        terminal.type(text);
        await terminal.waitForText(text);
        terminal.type("\t");
        await waitFor(() => plain(terminal).includes(expected), { label: () => plain(terminal) });
      };
      await complete("cal", "call ");
      await complete("loc", "local.");
      await complete("ec", "echo ");
      await complete("te", "text=");
      terminal.type("hello\r");
      await waitFor(() => /^hello$/m.test(plain(terminal)), { label: () => plain(terminal) });
      terminal.type("exit\r");
      await terminal.waitForText("exit code 0");
    });
  });

  test("questions of servers are asked in the shell and in a call, and a wrong boolean is refused", async () => {
    const answer = async (terminal: Terminal) => {
      await terminal.waitForText("Answer? [y/N] ");
      terminal.type("y\r");
      await terminal.waitForText("name (string, required): ");
      terminal.type("Ada\r");
      await terminal.waitForText("wise (boolean, y or n, required): ");
      terminal.type("maybe\r");
      await terminal.waitForText("wise must be true or false");
      terminal.type("n\r");
      await terminal.waitForText('accept {"name":"Ada","wise":false}');
    };
    await use(["call", "asker.ask"], 100, answer);
    await use(["shell"], 100, async (terminal) => {
      await terminal.waitForText("2 servers.");
      terminal.type("asker.ask\r");
      await answer(terminal);
      const before = prompts(terminal);
      // The answers are not in the history.
      terminal.type("\u001b[A");
      await waitFor(() => (plain(terminal).match(/asker\.ask/g) ?? []).length >= 2);
      expect(prompts(terminal)).toBeGreaterThanOrEqual(before);
      terminal.type("\u0003");
      await terminal.waitForText("^C");
      // Ctrl-D at a question ends the question only.
      terminal.type("asker.ask\r");
      await waitFor(() => terminal.shown.split("Answer? [y/N] ").length === 3);
      terminal.type("\u0004");
      await terminal.waitForText("decline undefined");
      await nextPrompt(terminal, 3);
      terminal.type("\u0004");
      await terminal.waitForText("exit code 0");
    });
  });

  test("a terminal of 40 columns gets lines of at most 40 columns", async () => {
    for (const args of [["list"], ["tools"], ["tools", "asker.ask"], ["--help"]]) {
      const terminal = await use(args, 40, () => Promise.resolve());
      const [output = ""] = plain(terminal).split(/^speed \d/m);
      // Commands are not wrapped, so that they can be copied.
      const isText = (line: string) => !/toolport </.test(line);
      const long = output.split(/\r?\n/).filter((line) => line.length > 40 && isText(line));
      expect(long, args.join(" ")).toEqual([]);
    }
  });

  test("Ctrl-C ends a call outside the shell with exit code 130", async () => {
    await use(["call", "local.slow", "ms=600000"], 80, async (terminal) => {
      await terminal.waitForText(/⠋|⠙|⠹|⠸|⠼|⠴|⠦|⠧|⠇|⠏/);
      terminal.type("\u0003");
      await terminal.waitForText("exit code 130");
    });
  });
});
