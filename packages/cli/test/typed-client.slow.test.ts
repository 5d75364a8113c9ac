/** `toolport types`: the generated file compiles in strict mode, and its client calls a real tool. */
import { expect, test } from "vitest";
import { checkSnippets } from "../../../test/docs/check-snippets.js";
import { USE, withTypedClient } from "./typed-client-scene.js";

const MISUSE = `
export const misuse = (toolport: Toolport) => createTools(toolport).pics.add({ a: "2", b: 3 });`;

test("generates a file that compiles, with a client that calls the tool", () =>
  withTypedClient(({ text }) => {
    const problems = checkSnippets(
      [USE, MISUSE].map((more, index) => ({ path: String(index), line: 0, text: text + more })),
      { ambient: "export {};", compilerOptions: { strict: true } },
    );
    expect(problems).toEqual([expect.stringMatching(/^1:\d+ TS2322/)]);
  }));
