/** `toolport types`: the generated file compiles in strict mode, and its client calls a real tool. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkSnippets } from "../docs/check-snippets.js";
import { createCliServer } from "../fixtures/servers/cli-server.js";
import { createCommandLinePlace } from "../support/command-line.js";

const USE = `
export async function use(toolport: Toolport): Promise<number> {
  const { structuredContent } = await createTools(toolport).pics.add({ a: 2, b: 3 });
  return structuredContent?.sum ?? Number.NaN;
}`;
const MISUSE = `
export const misuse = (toolport: Toolport) => createTools(toolport).pics.add({ a: "2", b: 3 });`;

test("generates a file that compiles, with a client that calls the tool", async () => {
  await using server = createCliServer();
  using place = createCommandLinePlace();
  const { entry } = await server.http();
  place.configure({ pics: { url: entry.url } });

  const { code, stdout, stderr } = await place.run(["types", "pics", "--out", "tools.ts", "--yes"]);
  expect([code, stdout]).toEqual([0, ""]);
  expect(stderr).toContain("tools.ts: 6 tools");
  const file = join(place.project, "tools.ts");
  const text = readFileSync(file, "utf8");
  expect((await place.run(["types", "pics"])).stdout).toBe(text);

  const problems = checkSnippets(
    [USE, MISUSE].map((more, index) => ({ path: String(index), line: 0, text: text + more })),
    { ambient: "export {};", compilerOptions: { strict: true } },
  );
  expect(problems).toEqual([expect.stringMatching(/^1:\d+ TS2322/)]);
});
