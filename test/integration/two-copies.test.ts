/** Two copies of Toolport in one process, as when one module imports it and another requires it. */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, vi } from "vitest";
import { openDurableObjectStorage } from "../contract/durable-object-storage.js";

const run = promisify(execFile);
const HOST = fileURLToPath(new URL("../fixtures/hosts/two-formats.mjs", import.meta.url));

/** Loads a module twice, together with everything it depends on. */
async function twice<Module>(load: () => Promise<Module>): Promise<[Module, Module]> {
  vi.resetModules();
  const first = await load();
  vi.resetModules();
  return [first, await load()];
}

it("recognises errors of the other copy, of the same class only", async () => {
  const [a, b] = await twice(() => import("../../packages/toolport/src/index.js"));
  expect(a.ConnectionError).not.toBe(b.ConnectionError);
  const error = new a.ConnectionError({ code: "UNREACHABLE", what: "The server cannot be reached" });
  expect(error instanceof b.ConnectionError).toBe(true);
  expect(error instanceof b.ToolportError).toBe(true);
  expect(error instanceof b.AuthError).toBe(false);
  expect(b.classifyError(error)).toEqual(a.classifyError(error));
});

it("keeps a subclass of the user apart from its base", async () => {
  const { ConnectionError, ToolportError } = await import("../../packages/toolport/src/index.js");
  class TunnelError extends ConnectionError {}
  const details = { code: "UNREACHABLE", what: "The tunnel is down" } as const;
  expect(new TunnelError(details) instanceof ConnectionError).toBe(true);
  expect(new TunnelError(details) instanceof TunnelError).toBe(true);
  expect(new ConnectionError(details) instanceof TunnelError).toBe(false);
  expect(TunnelError.isInstance(new ConnectionError(details))).toBe(false);
  for (const other of [undefined, null, "text", {}, new Error("no")])
    expect((other as unknown) instanceof ToolportError).toBe(false);
});

it("requests one new token from a provider that both copies use", async () => {
  const [a, b] = await twice(
    () => import("../../packages/core/src/transports/http/credentials/provider-authorization.js"),
  );
  let token = "old";
  let asked = 0;
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const provider = {
    token: async () => token,
    async onUnauthorized() {
      asked += 1;
      await released;
      token = "new";
    },
  };
  const parts = { provider, serverUrl: new URL("https://example.com/mcp"), fetch };
  const request = { method: "POST", url: parts.serverUrl, authorization: "Bearer old" };
  const send = async ({ authorization }: Readonly<Record<string, string>>) =>
    new Response(null, { status: authorization === "Bearer new" ? 200 : 401 });
  const both = [a, b].map((copy) => copy.renewAuthorization(parts)(request, send));
  // All steps before the provider's answer run in microtasks.
  await new Promise(setImmediate);
  expect(asked).toBe(1);
  release();
  expect((await Promise.all(both)).map(({ status }) => status)).toEqual([200, 200]);
  expect(asked).toBe(1);
});

it("notifies watchers of one copy when the other writes into a Durable Object", async () => {
  const [a, b] = await twice(
    () => import("../../packages/stores/src/durable-object/durable-object-store.js"),
  );
  const { storage, close } = openDurableObjectStorage();
  const [reader, writer] = [a.durableObjectStore(storage), b.durableObjectStore(storage)];
  const seen = new Promise((resolve) => reader.watch("servers/", resolve));
  await writer.put("servers/files", "{}");
  expect(await seen).toBe("servers/files");
  await Promise.all([reader.close(), writer.close()]);
  close();
});

it("lets a port of the ESM build work with a store, a server and an adapter of the CommonJS build", async () => {
  const folder = await mkdtemp(join(tmpdir(), "two-formats-"));
  try {
    const { stdout, stderr } = await run(process.execPath, [HOST, join(folder, "state.db")]);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual({
      answer: "Hello Ada",
      isEsmTool: false,
      isCommonJsTool: true,
      isError: true,
      isConnectionError: [true, true],
      isStateSaved: true,
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
