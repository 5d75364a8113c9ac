import { expect, test } from "vitest";
import type {
  FormElicitation,
  FormSchema,
  UrlElicitation,
} from "../../core/src/protocol/server-requests/elicitation.js";
import type { CommandContext } from "./command.js";
import { askForm, elicitOnTerminal } from "./questions.js";

/** Answers in order; undefined is Ctrl-D. */
async function fillIn(
  properties: object,
  required: readonly string[],
  typed: readonly (string | undefined)[],
) {
  const screen: string[] = [];
  const answers = [...typed];
  const content = await askForm(
    {
      info: (lines) => void screen.push(...[lines].flat()),
      async ask(question) {
        screen.push(question);
        if (answers.length === 0) throw new Error(`No answer left for ${question}`);
        return answers.shift();
      },
    },
    { type: "object", properties, required } as unknown as FormSchema,
  );
  return { content, screen };
}

test("converts every type, and takes choices by value or title", async () => {
  const { content, screen } = await fillIn(
    {
      name: { type: "string", title: "Full name" },
      age: { type: "integer" },
      weight: { type: "number" },
      isMember: { type: "boolean" },
      size: { type: "string", enum: ["s", "m"], enumNames: ["Small", "Medium"] },
      seat: { type: "string", oneOf: [{ const: "a", title: "Aisle" }] },
      tags: { type: "array", items: { anyOf: [{ const: "x", title: "Ex" }, { const: "y" }] } },
      note: { type: "string" },
    },
    [],
    ["Ada", "36", "1.5", "no", "Medium", "a", "Ex, y", '""'],
  );
  expect(content).toEqual({
    name: "Ada",
    age: 36,
    weight: 1.5,
    isMember: false,
    size: "m",
    seat: "a",
    tags: ["x", "y"],
    note: "",
  });
  expect(screen).toContain("  Full name (string, optional): ");
  expect(screen).toContain("    m: Medium");
  expect(screen).toContain("  isMember (boolean, y or n, optional): ");
});

test("asks again until a value is valid, and fills in defaults", async () => {
  const { content, screen } = await fillIn(
    {
      seat: { type: "string", minLength: 2 },
      rows: { type: "integer", maximum: 9 },
      pay: { type: "boolean" },
      meal: { type: "string", default: "none" },
      extra: { type: "string" },
    },
    ["seat", "pay", "meal"],
    ["", "1", "12A", "ten", "10", "9", "maybe", "y", "", ""],
  );
  expect(content).toEqual({ seat: "12A", rows: 9, pay: true, meal: "none" });
  expect(screen.filter((line) => !line.endsWith(": "))).toEqual([
    ...["  seat is required", "  seat is shorter than 2"],
    ...["  rows must be a whole number", "  rows is more than 9", "  pay must be true or false"],
  ]);
  expect(screen).toContain("  meal (string, default none, required): ");
});

test("ends at Ctrl-D, and sets fields with special names", async () => {
  expect((await fillIn({ a: { type: "string" } }, [], [undefined])).content).toBeUndefined();
  const properties = JSON.parse('{"__proto__":{"type":"string"}}') as object;
  expect(JSON.stringify((await fillIn(properties, [], ["x"])).content)).toBe('{"__proto__":"x"}');
});

test("shows forms of several servers one at a time", async () => {
  const screen: string[] = [];
  const context = {
    isInteractive: true,
    info: (lines: string | readonly string[]) =>
      void screen.push(...[lines].flat().map((line) => line.trim())),
    async ask(question: string) {
      screen.push(question.trim());
      await new Promise(setImmediate);
      return question.includes("[y/N]") ? "y" : "x";
    },
  } as Partial<CommandContext> as CommandContext;
  const { form, url } = elicitOnTerminal(context).onElicitation as {
    form: (request: Partial<FormElicitation>, origin: { server: string }) => Promise<unknown>;
    url: (request: Partial<UrlElicitation>, origin: { server: string }) => Promise<unknown>;
  };
  const requestedSchema = { type: "object", properties: { name: { type: "string" } } };
  const request = { message: "Who?", requestedSchema } as Partial<FormElicitation>;
  const answers = await Promise.all([
    form(request, { server: "a" }),
    url({ message: "Pay", url: "https://example.com/", host: "example.com" }, { server: "b" }),
    form(request, { server: "c" }),
  ]);
  expect(answers).toMatchObject([{ action: "accept" }, { action: "accept" }, { action: "accept" }]);
  const filled = ["Answer? [y/N]", "name (string, optional):"];
  expect(screen).toEqual([
    ...["a asks: Who?", ...filled],
    ...["b asks: Pay", "It asks you to open a page of example.com:", "https://example.com/"],
    "Have you opened it? [y/N]",
    ...["c asks: Who?", ...filled],
  ]);
});

test("asks again after an answer that is neither yes nor no", async () => {
  const typed = ["Ada", "y", "Ada"];
  const screen: string[] = [];
  const context = {
    isInteractive: true,
    info: (lines: string | readonly string[]) => void screen.push(...[lines].flat()),
    ask: async () => typed.shift(),
  } as Partial<CommandContext> as CommandContext;
  const { form } = elicitOnTerminal(context).onElicitation as {
    form: (request: Partial<FormElicitation>, origin: { server: string }) => Promise<unknown>;
  };
  const requestedSchema = { type: "object", properties: { name: { type: "string" } } };
  const request = { message: "Who?", requestedSchema } as Partial<FormElicitation>;
  expect(await form(request, { server: "a" })).toEqual({ action: "accept", content: { name: "Ada" } });
  expect(screen).toContain("Answer y or n");
});
