/** The era of a server is detected with one process, and remembered. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createToolport, memoryStore, type ServerEntry, type Store } from "toolport";
import { createTestServer } from "toolport/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const SERVER = "test/fixtures/servers/stdio-eras.mjs";

let folder: string;
let log: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolport-eras-"));
  log = join(folder, "log");
});

afterEach(() => rm(folder, { recursive: true, force: true }));

interface Connected {
  era: string | null;
  state: string;
  ms: number;
}

async function connectOnce(
  args: string[],
  store: Store = memoryStore(),
  protocol: NonNullable<ServerEntry["protocol"]> = "auto",
): Promise<Connected> {
  const server = { command: process.execPath, args: [SERVER, "--log", log, ...args], protocol };
  await using toolport = createToolport({ mcpServers: { server }, store, connectTimeoutMs: 15_000 });
  const { servers } = await toolport.connect();
  const report = servers["server"]!;
  if (report.state === "ready") {
    const { text } = await toolport.callTool("server__pid");
    expect(Number(text)).toBeGreaterThan(0);
  }
  return { era: toolport.snapshot().servers["server"]!.era, state: report.state, ms: report.ms };
}

async function received(): Promise<{ starts: number; methods: string[] }> {
  const lines = (await readFile(log, "utf8")).trim().split("\n");
  const methods = lines.map((line) => line.split(" ")[1]!);
  return { starts: methods.filter((method) => method === "start").length, methods };
}

describe("first contact over stdio", () => {
  test("a server of both eras is used in the modern era, with one process", async () => {
    expect(await connectOnce(["--era", "both"])).toMatchObject({ state: "ready", era: "modern" });
    expect(await received()).toMatchObject({ starts: 1 });
  });

  test("a legacy server that refuses the probe is initialized in the same process", async () => {
    expect(await connectOnce(["--era", "legacy"])).toMatchObject({ state: "ready", era: "legacy" });
    const { starts, methods } = await received();
    expect(starts).toBe(1);
    expect(methods.slice(0, 4)).toEqual([
      "start",
      "server/discover",
      "initialize",
      "notifications/initialized",
    ]);
  });

  test("a legacy server that ignores unknown methods takes about 2 s and one process", async () => {
    const { era, ms } = await connectOnce(["--era", "legacy", "--unknown", "silent"]);
    expect(era).toBe("legacy");
    expect(ms).toBeGreaterThan(1_900);
    expect(await received()).toMatchObject({ starts: 1 });
  });

  test("a slow modern server is not mistaken for a legacy one", async () => {
    const { era } = await connectOnce(["--era", "modern", "--delay", "2600"]);
    expect(era).toBe("modern");
    expect(await received()).toMatchObject({ starts: 1 });
  });

  test("a legacy server that ends at the probe gets one fresh process", async () => {
    expect(await connectOnce(["--era", "legacy", "--unknown", "exit"])).toMatchObject({
      state: "ready",
      era: "legacy",
    });
    const { starts, methods } = await received();
    expect(starts).toBe(2);
    expect(methods.filter((method) => method === "server/discover")).toHaveLength(1);
  });

  test("a pinned revision that the server does not speak is refused with its name", async () => {
    const server = {
      command: process.execPath,
      args: [SERVER, "--era", "legacy"],
      protocol: { pin: "2026-07-28" },
    };
    await using toolport = createToolport({ mcpServers: { server } });
    const { servers } = await toolport.connect();
    expect(servers["server"]).toMatchObject({ state: "failed", error: { code: "HANDSHAKE_FAILED" } });
    expect(servers["server"]!.error!.message).toContain("2026-07-28");
  });

  test.each(["2025-06-18", "2024-11-05"])("a pinned legacy revision (%s) is used", async (pin) => {
    const server = { command: process.execPath, args: [SERVER], protocol: { pin } };
    await using toolport = createToolport({ mcpServers: { server } });
    await toolport.connect();
    expect(toolport.snapshot().servers["server"]!.protocolVersion).toBe(pin);
  });
});

describe("the second start", () => {
  test.each(["legacy", "modern"])("of a %s server sends no probe", async (era) => {
    const store = memoryStore();
    await connectOnce(["--era", era], store);
    await rm(log);
    expect(await connectOnce(["--era", era], store)).toMatchObject({ state: "ready", era });
    const { starts, methods } = await received();
    expect(starts).toBe(1);
    expect(methods).not.toContain("server/discover");
    if (era === "modern") expect(methods.slice(1, 3)).toEqual(["tools/list", "tools/call"]);
  });

  test("of a server that ignored the probe sends it again", async () => {
    const store = memoryStore();
    await connectOnce(["--era", "legacy", "--unknown", "silent"], store);
    await rm(log);
    await connectOnce(["--era", "legacy", "--unknown", "silent"], store);
    expect((await received()).methods).toContain("server/discover");
  });

  test("of a server that ended at the probe starts with initialize", async () => {
    const store = memoryStore();
    await connectOnce(["--era", "legacy", "--unknown", "exit"], store);
    await rm(log);
    await connectOnce(["--era", "legacy", "--unknown", "exit"], store);
    expect(await received()).toMatchObject({ starts: 1 });
  });

  test("of a server that is no longer modern detects the change", async () => {
    const store = memoryStore();
    const key = (await storeKeyAfterModern(store))!;
    // The same command line runs another program, as after an upgrade or a downgrade.
    const record = await store.get(key);
    const legacy = { command: process.execPath, args: [SERVER, "--log", log, "--era", "legacy"] };
    const legacyStore = memoryStore();
    await using first = createToolport({ mcpServers: { server: legacy }, store: legacyStore });
    await first.connect();
    const [legacyKey] = await legacyStore.list("era/");
    await legacyStore.put(legacyKey!, record!.value);
    await using second = createToolport({ mcpServers: { server: legacy }, store: legacyStore });
    const { servers } = await second.connect();
    expect(servers["server"]!.state).toBe("ready");
    expect(second.snapshot().servers["server"]!.era).toBe("legacy");
    expect((await legacyStore.get(legacyKey!))?.value).toMatchObject({ era: "legacy" });
  });
});

async function storeKeyAfterModern(store: Store): Promise<string | undefined> {
  await connectOnce(["--era", "modern"], store);
  return (await store.list("era/"))[0];
}

describe("over HTTP", () => {
  test.each(["legacy", "modern"] as const)(
    "the era of a %s server is detected and remembered",
    async (era) => {
      await using server = createTestServer({ era, tools: { hello: { handler: () => "hello" } } });
      const { url } = await server.http();
      const store = memoryStore();
      for (let round = 0; round < 2; round += 1) {
        await using toolport = createToolport({ mcpServers: { web: { url } }, store });
        await toolport.connect();
        expect(toolport.snapshot().servers["web"]!.era).toBe(era);
        expect((await toolport.callTool("web__hello")).text).toBe("hello");
      }
      const [key] = await store.list("era/");
      expect((await store.get(key!))?.value).toMatchObject({ era });
    },
  );
});
