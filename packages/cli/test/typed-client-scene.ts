/** `toolport types` for a server with six tools: the file that it writes, and a program that uses its client. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { createCliServer } from "../../../test/fixtures/servers/cli-server.js";
import { createCommandLinePlace } from "../../../test/support/command-line.js";

export const USE = `
export async function use(toolport: Toolport): Promise<number> {
  const { structuredContent } = await createTools(toolport).pics.add({ a: 2, b: 3 });
  return structuredContent?.sum ?? Number.NaN;
}`;

/** Writes the file, and passes on its path and text. */
export async function withTypedClient(
  use: (client: {
    readonly server: ReturnType<typeof createCliServer>;
    readonly url: string;
    readonly project: string;
    readonly file: string;
    readonly text: string;
  }) => unknown,
): Promise<void> {
  await using server = createCliServer();
  using place = createCommandLinePlace();
  const { url } = await server.http();
  place.configure({ pics: { url } });

  const { code, stdout, stderr } = await place.run(["types", "pics", "--out", "tools.ts", "--yes"]);
  expect([code, stdout]).toEqual([0, ""]);
  expect(stderr).toContain("tools.ts: 6 tools");
  const file = join(place.project, "tools.ts");
  const text = readFileSync(file, "utf8");
  expect((await place.run(["types", "pics"])).stdout).toBe(text);
  await use({ server, url, project: place.project, file, text });
}
