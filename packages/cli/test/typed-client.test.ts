/** `toolport types` writes a client that calls a real tool. Its types are checked in `typed-client.slow.test.ts`. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createToolport } from "toolport";
import { transformWithOxc } from "vite";
import { expect, test } from "vitest";
import { USE, withTypedClient } from "./typed-client-scene.js";

test("the client in the file calls the tool", () =>
  withTypedClient(async ({ server, url, project, file, text }) => {
    const { code: script } = await transformWithOxc(text + USE, file, { target: "es2022" });
    writeFileSync(join(project, "tools.mjs"), script);
    const { use } = (await import(pathToFileURL(join(project, "tools.mjs")).href)) as {
      use(toolport: unknown): Promise<number>;
    };
    await using toolport = createToolport({ mcpServers: { pics: { url } } });
    expect(await use(toolport)).toBe(5);
    expect(server.calls.at(-1)).toMatchObject({ name: "add", args: { a: 2, b: 3 } });
  }));
