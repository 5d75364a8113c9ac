/** Questions in a real terminal: secrets are never echoed, other answers once. */
import { expect, test } from "vitest";
import { useProgram } from "../../../test/support/cli-sandbox.js";
import { startRegistryServer } from "../../../test/support/registry-server.js";
import { hasTerminal, openTerminal, type Terminal } from "../../../test/support/terminal.js";

const createSandbox = useProgram();

const variable = (name: string, isSecret: boolean) => ({ name, isRequired: true, isSecret });

const SERVER = {
  name: "io.github.user/weather",
  description: "Weather",
  version: "1.2.0",
  packages: [
    {
      registryType: "npm",
      identifier: "@user/weather",
      version: "1.2.0",
      transport: { type: "stdio" },
      environmentVariables: [
        variable("FIRST_KEY", true),
        variable("REGION", false),
        variable("SECOND_KEY", true),
        variable("THIRD_KEY", true),
        variable("ACCOUNT", false),
      ],
    },
  ],
};

/** Runs `add --from-registry` in a terminal, then prints the terminal settings. */
async function addInTerminal(
  use: (terminal: Terminal, saved: () => Promise<Record<string, unknown>>) => Promise<void>,
): Promise<void> {
  using sandbox = createSandbox();
  await using registry = await startRegistryServer({ records: [{ server: SERVER }] });
  const line = [process.execPath, sandbox.main, "add", "--from-registry", SERVER.name];
  const script = `"$@"; code=$?; stty -a; echo "exit code $code"`;
  const terminal = openTerminal(
    ["sh", "-c", script, "sh", ...line, "--registry", registry.url, "--no-check"],
    { cwd: sandbox.project, env: sandbox.env },
  );
  try {
    await use(terminal, async () => JSON.parse(await sandbox.read(sandbox.ownFile)).mcpServers.weather.env);
    expect(await terminal.ended).toBe(0);
    // The terminal settings are restored.
    expect(terminal.shown).toMatch(/ echo /);
    expect(terminal.shown).toMatch(/ icanon/);
  } finally {
    terminal.kill();
  }
}

/** The line of the screen that starts with this question. */
function lineOf({ shown }: Terminal, question: string): string {
  const lines = shown.split("\n").filter((line) => line.includes(question));
  expect(lines, `${question} in ${JSON.stringify(shown)}`).toHaveLength(1);
  // Without cursor movements and erase sequences.
  return lines[0]!.replace(/\u001b\[[0-9;]*[A-Za-z]|\r/g, "");
}

test.skipIf(!hasTerminal)("hides secrets between other answers, which are shown once", async () => {
  await addInTerminal(async (terminal, saved) => {
    const answer = async (question: string, keys: string) => {
      await terminal.waitForText(`${question}: `);
      for (const key of keys) terminal.type(key);
      terminal.type("\r");
    };
    await answer("FIRST_KEY", "Qz7!Kw");
    await answer("REGION", "north");
    // With a correction, a cursor key and a restarted line.
    await answer("SECOND_KEY", "Jx#\u0015Vj9&Xx\u007f\u007fYb\u001b[D\u001b[C");
    await answer("THIRD_KEY", "Gf5@Pq");
    await answer("ACCOUNT", "ada");
    await terminal.waitForText("[y/N] ");
    terminal.type("y\r");
    await terminal.waitForText("exit code 0");
    expect(lineOf(terminal, "FIRST_KEY: ")).toBe("FIRST_KEY: ");
    expect(lineOf(terminal, "REGION: ")).toBe("REGION: north");
    expect(lineOf(terminal, "SECOND_KEY: ")).toBe("SECOND_KEY: ");
    expect(lineOf(terminal, "THIRD_KEY: ")).toBe("THIRD_KEY: ");
    expect(lineOf(terminal, "ACCOUNT: ")).toBe("ACCOUNT: ada");
    expect(lineOf(terminal, "Add weather to")).toMatch(/\[y\/N\] y$/);
    // Names of temporary directories consist of letters and digits.
    for (const part of ["7!", "!K", "x#", "9&", "&Y", "5@", "@P"]) expect(terminal.shown).not.toContain(part);
    expect(await saved()).toEqual({
      FIRST_KEY: "Qz7!Kw",
      REGION: "north",
      SECOND_KEY: "Vj9&Yb",
      THIRD_KEY: "Gf5@Pq",
      ACCOUNT: "ada",
    });
  });
});

test.skipIf(!hasTerminal)("ends at Ctrl-C during a secret without showing it", async () => {
  await addInTerminal(async (terminal) => {
    await terminal.waitForText("FIRST_KEY: ");
    terminal.type("Qz7!Kw\r");
    await terminal.waitForText("REGION: ");
    terminal.type("north\r");
    await terminal.waitForText("SECOND_KEY: ");
    terminal.type("Vj9&");
    terminal.type("\u0003");
    await terminal.waitForText("exit code 130");
    expect(lineOf(terminal, "SECOND_KEY: ")).toBe("SECOND_KEY: ");
    expect(terminal.shown).not.toMatch(/7!|9&|THIRD_KEY: /);
  });
});

test.skipIf(!hasTerminal)("treats Ctrl-D as no answer and asks the next question", async () => {
  await addInTerminal(async (terminal) => {
    await terminal.waitForText("FIRST_KEY: ");
    terminal.type("\u0004");
    await terminal.waitForText("REGION: ");
    terminal.type("\u0004");
    await terminal.waitForText("SECOND_KEY: ");
    terminal.type("Vj9&\r");
    await terminal.waitForText("THIRD_KEY: ");
    terminal.type("\u0003");
    await terminal.waitForText("exit code 130");
    expect(lineOf(terminal, "REGION: ")).toBe("REGION: ");
    expect(lineOf(terminal, "SECOND_KEY: ")).toBe("SECOND_KEY: ");
    expect(terminal.shown).not.toContain("9&");
  });
});
