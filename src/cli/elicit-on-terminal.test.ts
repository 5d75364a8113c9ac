import { expect, test } from "vitest";
import type { FormElicitation, UrlElicitation } from "../protocol/server-requests/elicitation-request.js";
import type { CommandContext } from "./command-context.js";
import { elicitOnTerminal } from "./elicit-on-terminal.js";

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
