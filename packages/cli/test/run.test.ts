/** `run` with a local model double in both APIs. Calls that may change something need approval. */

import { createTestServer } from "@toolport/testing";
import { expect, test } from "vitest";
import { useProgram } from "../../../test/support/cli-sandbox.js";
import { hasTerminal, openTerminal } from "../../../test/support/terminal.js";
import { type ScriptedTurn, startModelDouble } from "../../adapters/test/model-double.js";

const createSandbox = useProgram();

const TURNS: readonly ScriptedTurn[] = [
  [{ name: "notes__add", args: { text: "milk" } }],
  "Milk is on the list",
];

async function setUp(turns = TURNS) {
  const sandbox = createSandbox();
  const kept: string[] = [];
  const notes = createTestServer({
    tools: {
      add: {
        description: "Keeps a note",
        inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
        handler: ({ text }) => {
          kept.push(String(text));
          return `Kept ${String(text)}`;
        },
      },
    },
  });
  const { url } = await notes.http();
  await sandbox.write("home/.config/toolport/toolport.json", { mcpServers: { notes: { url } } });
  const model = await startModelDouble(turns);
  return {
    sandbox,
    kept,
    model,
    async [Symbol.asyncDispose]() {
      await Promise.all([notes.close(), model[Symbol.asyncDispose]()]);
      sandbox[Symbol.dispose]();
    },
  };
}

test.each(["openai", "anthropic"])("a model with %s's API uses the tools", async (api) => {
  await using setup = await setUp();
  const { sandbox, model, kept } = setup;
  const options = ["--model-url", `${model.url}/v1`, "--model", "double", "--api", api, "--yes", "--json"];
  const { code, stdout, stderr } = await sandbox.run("run", "Note that I need milk", ...options);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(JSON.parse(stdout)).toMatchObject({
    text: "Milk is on the list",
    endedBy: "answer",
    model: "double",
    steps: [
      {
        calls: [{ name: "notes__add", args: { text: "milk" } }],
        outcomes: [{ text: "Kept milk", isError: false }],
      },
      { calls: [], outcomes: [] },
    ],
  });
  expect(kept).toEqual(["milk"]);
  expect(JSON.stringify(model.requests[0])).toContain("Keeps a note");
  expect(model.requests).toHaveLength(2);
});

test("--code: the model gets search and execute, and its program calls the tools", async () => {
  const source = `const kept = await tools.notes.add({ text: "milk" }); return kept.toUpperCase();`;
  await using setup = await setUp([[{ name: "execute", args: { code: source } }], "Milk is on the list"]);
  const { sandbox, model, kept } = setup;
  const options = ["--model-url", `${model.url}/v1`, "--model", "double", "--code", "--yes", "--json"];
  const { code, stdout, stderr } = await sandbox.run("run", "Note that I need milk", ...options);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const { steps } = JSON.parse(stdout) as { steps: { outcomes: { text: string; isError: boolean }[] }[] };
  expect(steps[0]!.outcomes).toEqual([
    expect.objectContaining({ isError: false, text: expect.stringContaining("KEPT MILK") }),
  ]);
  expect(kept).toEqual(["milk"]);
  const { tools } = model.requests[0] as { tools: { function: { name: string } }[] };
  expect(tools.map((tool) => tool.function.name).slice(0, 2)).toEqual(["search", "execute"]);
});

test("rejects calls that may change something without a terminal and --yes, and reports that to the model", async () => {
  await using setup = await setUp();
  const { sandbox, model, kept } = setup;
  const { code, stdout, stderr } = await sandbox.run(
    "run",
    "Note",
    "milk",
    "--model-url",
    model.url,
    "--model",
    "double",
  );
  expect(code).toBe(0);
  expect(stdout).toBe("Milk is on the list\n");
  expect(stderr).toContain("was not called");
  expect(kept).toEqual([]);
  expect(JSON.stringify(model.requests[1])).toContain("not approved");
});

test("suggests a fix after too many steps, without a model, and with a wrong key", async () => {
  await using setup = await setUp([TURNS[0]!, TURNS[0]!, TURNS[0]!]);
  const { sandbox, model } = setup;
  const endless = await sandbox.run(
    "run",
    "x",
    "--model-url",
    model.url,
    "--model",
    "m",
    "--max-steps",
    "2",
    "--yes",
  );
  expect(endless.code).toBe(1);
  expect(endless.stderr).toContain("--max-steps");
  const none = await sandbox.run("run", "x", "--json");
  expect(none.code).toBe(2);
  expect(none.error()).toMatchObject({ code: "NO_MODEL" });
  expect(none.error().message).toContain("OPENAI_API_KEY or ANTHROPIC_API_KEY");
  const away = await sandbox.run(
    "run",
    "x",
    "--model-url",
    "http://127.0.0.1:9/v1",
    "--model",
    "m",
    "--json",
  );
  expect(away.code).toBe(4);
  const wrong = await sandbox.run("run", "x", "--model-url", "nonsense", "--json");
  expect(wrong.code).toBe(2);
});

test.skipIf(!hasTerminal)("asks the user before the call in a real terminal", async () => {
  await using setup = await setUp();
  const { sandbox, model, kept } = setup;
  const line = ["run", "Note milk", "--model-url", model.url, "--model", "double"];
  const terminal = openTerminal([process.execPath, sandbox.main, ...line], {
    cwd: sandbox.project,
    env: sandbox.env,
  });
  try {
    await terminal.waitForText('Let the model call notes.add {"text":"milk"}? [y/N]');
    expect(kept).toEqual([]);
    terminal.type("y\r");
    await terminal.waitForText("Milk is on the list");
    expect(await terminal.ended).toBe(0);
    expect(kept).toEqual(["milk"]);
  } finally {
    terminal.kill();
  }
});
