/** `as(user, { env })`: a user's processes get that user's variables, and no other process does. */
import { fileURLToPath } from "node:url";
import { createToolport, type Toolport } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { waitForExit } from "../support/processes.js";

const LEAN = fileURLToPath(new URL("../fixtures/servers/stdio-lean.mjs", import.meta.url));
const ECHO = fileURLToPath(new URL("../fixtures/servers/stdio-echo-secrets.mjs", import.meta.url));
const local = { command: process.execPath, args: [LEAN], env: { TOKEN: "of everyone", MODE: "test" } };

const variable = async (port: Toolport, name: string) => (await port.callTool("s__env", { name })).text;
const pid = async (port: Toolport) => Number((await port.callTool("s__pid")).text);

test("each user has a process with its own variables, which override the configured ones", async () => {
  await using toolport = createToolport({ mcpServers: { s: local } });
  const ada = toolport.as("ada", { env: { TOKEN: "of ada" } });
  const grace = toolport.as("grace", { env: { TOKEN: "of grace", EXTRA: "1" } });
  for (const [port, token] of [
    [ada, "of ada"],
    [grace, "of grace"],
    [toolport, "of everyone"],
    [toolport.as("joan"), "of everyone"],
  ] as const) {
    expect(await variable(port, "TOKEN")).toBe(token);
    expect(await variable(port, "MODE")).toBe("test");
  }
  expect(new Set([await pid(ada), await pid(grace), await pid(toolport)]).size).toBe(3);
  expect(await variable(grace, "EXTRA")).toBe("1");
  expect(await variable(ada, "EXTRA")).not.toBe("1");
});

test("the same values keep the process; other values start a new one, and calls in flight finish on the old one", async () => {
  await using toolport = createToolport({ mcpServers: { s: local } });
  const ada = toolport.as("ada", { env: { TOKEN: "1", EXTRA: "x" } });
  const first = await pid(ada);
  const given = { TOKEN: "1", EXTRA: "x" };
  expect(toolport.as("ada", { env: given })).toBe(ada);
  given.TOKEN = "changed by its owner";
  expect(toolport.as("ada", { headers: { a: "b" } })).toBe(ada);
  expect(await pid(ada)).toBe(first);

  const slow = ada.callTool("s__slow", { ms: 300 });
  expect(toolport.as("ada", { env: { TOKEN: "2" } })).toBe(ada);
  expect(await variable(ada, "TOKEN")).toBe("2");
  // Omitted variables are removed.
  expect(await variable(ada, "EXTRA")).not.toBe("x");
  expect(await pid(ada)).not.toBe(first);
  expect((await slow).isError).toBe(false);
  await waitForExit(first);
});

test("closing the port ends an old process with a hanging call", async () => {
  const toolport = createToolport({ mcpServers: { s: local } });
  const ada = toolport.as("ada", { env: { TOKEN: "1" } });
  const first = await pid(ada);
  const slow = failure(ada.callTool("s__slow", { ms: 60_000 }));
  toolport.as("ada", { env: { TOKEN: "2" } });
  const second = await pid(ada);
  await toolport.close();
  expect(await slow).toMatchObject({ name: expect.stringMatching(/Error$/) });
  await Promise.all([waitForExit(first), waitForExit(second)]);
});

test("the process ends when idle, and starts again with the same variables", async () => {
  await using toolport = createToolport({ mcpServers: { s: local }, idleTimeoutMs: 200 });
  const ada = toolport.as("ada", { env: { TOKEN: "of ada" } });
  const first = await pid(ada);
  await waitForExit(first);
  expect(await variable(ada, "TOKEN")).toBe("of ada");
  const second = await pid(ada);
  await ada.close();
  await waitForExit(second);
});

test("servers added later get them, too; servers over HTTP get none of them", async () => {
  const seen: string[] = [];
  await using server = createTestServer({ tools: { one: { handler: () => "" } } });
  const http = await server.http({
    intercept(request) {
      seen.push(JSON.stringify([...request.headers]));
      return undefined;
    },
  });
  await using toolport = createToolport({ mcpServers: { web: http.entry } });
  const ada = toolport.as("ada", { env: { TOKEN: "canary-of-ada" } });
  await ada.callTool("web__one");
  await toolport.add("s", local);
  expect(await variable(ada, "TOKEN")).toBe("canary-of-ada");
  expect(seen.join()).not.toContain("canary-of-ada");
  expect(JSON.stringify(ada.snapshot())).not.toContain("canary-of-ada");
});

test("errors do not show them", async () => {
  await using toolport = createToolport({
    mcpServers: { s: { command: process.execPath, args: [ECHO, "--exit"] } },
  });
  const ada = toolport.as("ada", { env: { MY_KEY: "canary-5d1c9a70" } });
  const { servers } = await ada.connect();
  expect(servers["s"]!.error).toMatchObject({ code: "SPAWN_FAILED" });
  expect(JSON.stringify([servers, servers["s"]!.error!.message, String(servers["s"]!.error)])).not.toContain(
    "canary-5d1c9a70",
  );
});

test.each([
  [{ env: { "A=B": "1" } }, `env["A=B"]`],
  [{ env: { A: 1 } }, "env.A"],
  [{ env: "A=1" }, "env"],
  [{ enviroment: {} }, "enviroment"],
])("%j is an error that names the problem", async (options, path) => {
  await using toolport = createToolport({ mcpServers: { s: local } });
  expect(() => toolport.as("ada", options as never)).toThrow(path);
});

test("another authProvider keeps the earlier headers and environment", async () => {
  await using server = createTestServer({
    tools: {
      header: { handler: (_args, { request }) => request.http?.req?.headers.get("x-user") ?? "none" },
    },
  });
  const http = await server.http();
  await using toolport = createToolport({ mcpServers: { web: http.entry, s: local } });
  toolport.as("ada", { headers: { "x-user": "ada" }, env: { TOKEN: "of ada" } });
  const ada = toolport.as("ada", { authProvider: { token: async () => "t" } });
  expect((await ada.callTool("web__header")).text).toBe("ada");
  expect(await variable(ada, "TOKEN")).toBe("of ada");
  const again = toolport.as("ada", {
    authProvider: { token: async () => "u" },
    headers: { "x-user": "new" },
  });
  expect(again).not.toBe(ada);
  expect((await again.callTool("web__header")).text).toBe("new");
});
