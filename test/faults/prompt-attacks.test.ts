/** Attacks on the model through texts of servers: they are scanned, cleaned, pinned and reported. */
import { createToolport, memoryStore, type ScanHook, type Toolport } from "toolport";
import { toAiSdkTools } from "toolport/ai-sdk";
import { toAnthropicTools } from "toolport/anthropic";
import { toGeminiTools } from "toolport/gemini";
import { toLangChainTools } from "toolport/langchain";
import { toOpenAITools } from "toolport/openai";
import {
  createTestServer,
  type TestServer,
  type TestServerDefinition,
  type TestTool,
} from "toolport/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ALL_SEQUENCES,
  HIDDEN_CHARACTERS,
  LOOK_ALIKES,
  POISONING,
  RUG_PULLS,
  TERMINAL_SEQUENCES,
  UNSAFE_ON_TERMINAL,
} from "../fixtures/prompt-attacks/corpus.js";
import { type CommandLinePlace, createCommandLinePlace } from "../support/command-line.js";
import { failure } from "../support/failure.js";

const handler = () => "ran";
const withTool = (tool: Partial<TestTool>): TestServerDefinition => ({ tools: { it: { handler, ...tool } } });
const withField = (field: Record<string, unknown>): TestServerDefinition =>
  withTool({ inputSchema: { type: "object", properties: { a: field } } });

/** A server that sends the text in that field. */
const PLACES: Record<string, (text: string) => TestServerDefinition> = {
  description: (description) => withTool({ description }),
  title: (title) => withTool({ title }),
  annotationTitle: (title) => withTool({ annotations: { title, readOnlyHint: true } }),
  parameterDescription: (description) => withField({ type: "number", description }),
  nestedParameterDescription: (description) =>
    withField({ type: "object", properties: { b: { type: "array", items: { description } } } }),
  parameterName: (name) => withTool({ inputSchema: { type: "object", properties: { [name]: {} } } }),
  parameterTitle: (title) => withField({ type: "string", title }),
  enum: (text) => withField({ enum: ["kelvin", text] }),
  const: (text) => withField({ const: text }),
  default: (text) => withField({ type: "string", default: text }),
  examples: (text) => withField({ type: "string", examples: [{ deep: [text] }] }),
  schemaComment: (text) => withTool({ inputSchema: { type: "object", $comment: text } }),
  requiredName: (text) => withTool({ inputSchema: { type: "object", required: [text] } }),
  unknownKeyword: (text) => withTool({ inputSchema: { type: "object", "x-note": { to: text } } }),
  outputDescription: (description) => withTool({ outputSchema: { type: "object", description } }),
  instructions: (instructions) => ({ ...withTool({}), instructions }),
  promptDescription: (description) => ({ prompts: { it: { description, get: handler } } }),
  promptArgument: (description) => ({
    prompts: { it: { arguments: [{ name: "a", description }], get: handler } },
  }),
  promptTitle: (title) => ({ prompts: { it: { title, get: handler } } }),
  resourceDescription: (description) => ({ resources: { "x://it": { description, text: "" } } }),
  resourceName: (name) => ({ resources: { "x://it": { name, text: "" } } }),
  resourceTemplateDescription: (description) => ({ resourceTemplates: { "x://{it}": { description } } }),
};

/** Everything that a program can read from a port for a model. */
async function everything(toolport: Toolport): Promise<string> {
  const lists = [toolport.tools(), toolport.prompts(), toolport.resources(), toolport.resourceTemplates()];
  const said = await Promise.all([...lists, toolport.searchTools("it"), toolport.instructions()]);
  return JSON.stringify(said);
}

async function use<Result>(
  definition: TestServerDefinition,
  scan: ScanHook | undefined,
  run: (toolport: Toolport) => Promise<Result>,
): Promise<Result> {
  await using server = createTestServer(definition);
  await using toolport = createToolport({ mcpServers: { s: server.memory() }, ...(scan && { scan }) });
  return await run(toolport);
}

describe(`poisoning: ${POISONING.length} samples`, () => {
  test("there are at least thirty, in every field", () => {
    expect(POISONING.length).toBeGreaterThanOrEqual(30);
    expect(new Set(POISONING.map(({ place }) => place))).toEqual(new Set(Object.keys(PLACES)));
  });

  test.each(POISONING)(
    "$place, $what: reaches the scan, and no model if the scan rejects it",
    async ({ place, text }) => {
      const definition = PLACES[place]!(text);
      const seen: string[] = [];
      await use(
        definition,
        (_server, _scanned, strings) => void seen.push(...strings.map((string) => string.text)),
        everything,
      );
      expect(seen.some((string) => string.includes(text))).toBe(true);
      const shown = JSON.stringify(text).slice(1, -1);
      const refuse: ScanHook = (_server, _scanned, strings) =>
        strings.some((string) => string.text.includes(text)) ? "Poisoned" : undefined;
      expect(await use(definition, undefined, everything)).toContain(shown);
      expect(await use(definition, refuse, everything)).not.toContain(shown);
    },
  );
});

test("no adapter passes instructions of a server to a model", async () => {
  const samples = POISONING.filter(({ place }) => place === "instructions");
  for (const { text } of samples) {
    await use(PLACES["instructions"]!(text), undefined, async (toolport) => {
      const given = await Promise.all([
        toolport.tools(),
        toOpenAITools(toolport),
        toAnthropicTools(toolport),
        toGeminiTools(toolport),
        toAiSdkTools(toolport),
        toLangChainTools(toolport).then((tools) =>
          tools.map(({ name, description, schema }) => ({ name, description, schema })),
        ),
        toolport.callTool("s__it"),
      ]);
      expect(given.filter((each) => JSON.stringify(each).includes(text.slice(0, 20)))).toEqual([]);
    });
  }
});

describe("invisible characters: five classes in three fields", () => {
  const cases = HIDDEN_CHARACTERS.flatMap((hidden) =>
    (["title", "description", "annotations"] as const).map((field) => ({ ...hidden, field })),
  );
  test("are fifteen cases", () => expect(cases).toHaveLength(15));

  test.each(cases)("$name in $field", async ({ characters, visible, field }) => {
    const dirty = `List ${characters}files`;
    const clean = `List ${visible}files`;
    const tool = field === "annotations" ? { annotations: { title: dirty } } : { [field]: dirty };
    await use(withTool(tool), undefined, async (toolport) => {
      const [listed] = await toolport.tools();
      const text = field === "annotations" ? listed?.annotations?.title : listed?.[field];
      expect(text).toBe(clean);
      const removed = [...dirty].length - [...clean].length;
      expect(toolport.snapshot().textFindings).toMatchObject([{ server: "s", name: "it", removed, left: 0 }]);
    });
  });

  test("in names, enums and defaults they stay, and are reported with their paths", async () => {
    const { characters } = HIDDEN_CHARACTERS[0]!;
    const field = { enum: [`a${characters}`], default: `a${characters}` };
    await use(withField(field), undefined, async (toolport) => {
      expect(await toolport.tools()).toHaveLength(1);
      expect(toolport.snapshot().textFindings).toMatchObject([
        {
          removed: 0,
          left: 2 * [...characters].length,
          paths: ["/inputSchema/properties/a/enum/0", "/inputSchema/properties/a/default"],
        },
      ]);
    });
  });
});

describe("names that look like others", () => {
  test.each(LOOK_ALIKES)("$how: $alike", async ({ honest, alike }) => {
    const tools = { [honest]: { handler: () => "honest" }, [alike]: { handler: () => "alike" } };
    await using one = createTestServer({ tools });
    for (const prefix of [true, false]) {
      await using toolport = createToolport({ mcpServers: { s: one.memory() }, prefix });
      const [first, second] = await toolport.tools();
      expect([first?.sourceName, second?.sourceName]).toEqual([honest, alike]);
      // One of them gets a fingerprint, so that the names differ visibly, and both are reported.
      expect([first!.name, second!.name].filter((name) => /_[0-9a-z]{10}$/.test(name))).toHaveLength(1);
      const { nameIssues } = toolport.snapshot();
      expect(nameIssues.some(({ reason }) => /"[^"]+" of server "s"|Looks like/.test(reason))).toBe(true);
      expect((await toolport.callTool(first!.name)).text).toBe("honest");
      expect((await toolport.callTool(second!.name)).text).toBe("alike");
    }
  });

  test.each(LOOK_ALIKES)("on another server, without prefixes, $how: reported", async ({ honest, alike }) => {
    await using trusted = createTestServer({ tools: { [honest]: { handler: () => "honest" } } });
    await using other = createTestServer({ tools: { [alike]: { handler: () => "alike" } } });
    await using toolport = createToolport({
      mcpServers: { trusted: trusted.memory(), other: other.memory() },
      prefix: false,
    });
    await toolport.tools();
    expect((await toolport.callTool(honest)).text).toBe("honest");
    const { nameIssues } = toolport.snapshot();
    expect(nameIssues.every(({ server, sourceName }) => server === "other" && sourceName === alike)).toBe(
      true,
    );
    expect(nameIssues.some(({ reason }) => reason.includes(`"${honest}"`))).toBe(true);
  });
});

describe("rug pulls", () => {
  const { definition, changed, same } = RUG_PULLS;
  const asTool = ({ name: _, ...tool }: Readonly<Record<string, unknown>>): TestTool =>
    ({ ...tool, handler: () => ({ structuredContent: { text: "ran" } }) }) as TestTool;
  const define = (tool: Readonly<Record<string, unknown>>) => ({ tools: { read_file: asTool(tool) } });

  /** Pins the first definition, then loads the second one in another port. */
  async function pull(
    tool: Readonly<Record<string, unknown>>,
    pins: "warn" | "block",
    look: (toolport: Toolport, events: number) => Promise<void>,
  ): Promise<void> {
    const store = memoryStore();
    await using before = createTestServer(define(definition));
    await using first = createToolport({ mcpServers: { s: before.memory() }, store, pins });
    expect(await first.tools()).toHaveLength(1);
    await using after = createTestServer(define(tool));
    await using second = createToolport({ mcpServers: { s: after.memory() }, store, pins });
    let events = 0;
    second.on("toolChanged", () => {
      events += 1;
    });
    await second.tools();
    await look(second, events);
  }

  test.each(changed)("$what: an event; withheld in block mode", async ({ tool }) => {
    await pull(tool, "warn", async (toolport, events) => {
      expect(events).toBe(1);
      expect(await toolport.tools()).toHaveLength(1);
    });
    await pull(tool, "block", async (toolport, events) => {
      expect(events).toBe(1);
      expect(await toolport.tools()).toEqual([]);
      expect(await failure(toolport.callTool("s__read_file", { path: "x" }))).toMatchObject({
        code: "TOOL_CHANGED",
        server: "s",
        tool: "read_file",
      });
      await toolport.approveTools("s");
      expect(await toolport.tools()).toHaveLength(1);
    });
  });

  test.each(same)("$what: no event", async ({ tool }) => {
    await pull(tool, "block", async (toolport, events) => {
      expect(events).toBe(0);
      expect(await toolport.tools()).toHaveLength(1);
    });
  });
});

describe("terminal sequences in the command line", () => {
  let place: CommandLinePlace;
  let server: TestServer;
  beforeAll(async () => {
    place = createCommandLinePlace();
    const say = Object.fromEntries(
      Object.entries(TERMINAL_SEQUENCES).map(([name, sequence], at) => [
        `say_${at}`,
        { description: `${name} ${sequence}`, handler: () => `${name} ${sequence}` },
      ]),
    );
    server = createTestServer({ name: `evil${ALL_SEQUENCES}`, tools: say });
    place.configure({ evil: { url: (await server.http()).entry.url } });
    await place.run(["list", "--yes"]);
  });
  afterAll(async () => {
    await server.close();
    place[Symbol.dispose]();
  });

  test("there are twenty", () => expect(Object.keys(TERMINAL_SEQUENCES)).toHaveLength(20));

  test.each(Object.keys(TERMINAL_SEQUENCES).map((name, at) => ({ name, at })))(
    "$name: clean",
    async ({ at }) => {
      for (const args of [
        ["call", `evil.say_${at}`],
        ["tools", `evil.say_${at}`],
      ]) {
        const { code, stdout, stderr } = await place.run([...args, "--no-color"], { isTerminal: true });
        expect(code).toBe(0);
        expect(stdout.length).toBeGreaterThan(0);
        expect(UNSAFE_ON_TERMINAL.exec(stdout + stderr)).toBeNull();
      }
    },
  );
});
