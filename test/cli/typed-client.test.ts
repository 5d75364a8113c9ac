/** `toolport types` writes a client that calls a real tool. Its types are checked in `typed-client.slow.test.ts`. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createToolport } from "toolport";
import { transformWithOxc } from "vite";
import { expect, test } from "vitest";
import { createCliServer } from "../fixtures/servers/cli-server.js";
import { createCommandLinePlace } from "../support/command-line.js";

const USE = `
export async function use(toolport: Toolport): Promise<number> {
  const { structuredContent } = await createTools(toolport).pics.add({ a: 2, b: 3 });
  return structuredContent?.sum ?? Number.NaN;
}`;

test("the client in the file calls the tool", async () => {
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

  const { code: script } = await transformWithOxc(text + USE, file, { target: "es2022" });
  writeFileSync(join(place.project, "tools.mjs"), script);
  const { use } = (await import(pathToFileURL(join(place.project, "tools.mjs")).href)) as {
    use(toolport: unknown): Promise<number>;
  };
  await using toolport = createToolport({ mcpServers: { pics: entry } });
  expect(await use(toolport)).toBe(5);
  expect(server.calls.at(-1)).toMatchObject({ name: "add", args: { a: 2, b: 3 } });
});
