import { describe, expect, it, test } from "vitest";
import type { ServerEntry } from "../config/server-entry.js";
import { memoryStore } from "../state/memory-store.js";
import { configFingerprint, TrustRecords } from "./index.js";

const entry = {
  command: "npx",
  args: ["-y", "server"],
  env: { KEY: "one", NODE_OPTIONS: "--no-warnings" },
  cwd: "/srv",
} satisfies ServerEntry;
const remote = {
  url: "https://example.com/mcp",
  headers: { Authorization: "Bearer one" },
} satisfies ServerEntry;
const server = { name: "files", file: "/project/.mcp.json", entry: entry as ServerEntry };

describe("a fingerprint", () => {
  const changes: [what: string, before: ServerEntry, after: ServerEntry][] = [
    ["command", entry, { ...entry, command: "/tmp/npx" }],
    ["args", entry, { ...entry, args: ["-y", "server", "--evil"] }],
    ["order of args", entry, { ...entry, args: ["server", "-y"] }],
    ["names of variables", entry, { ...entry, env: { ...entry.env, MORE: "" } }],
    [
      "a variable that decides what runs",
      entry,
      { ...entry, env: { ...entry.env, NODE_OPTIONS: "-r ./x.js" } },
    ],
    ["cwd", entry, { ...entry, cwd: "/tmp" }],
    ["no cwd", entry, { ...entry, cwd: undefined as unknown as string }],
    ["inheritEnv", entry, { ...entry, inheritEnv: true }],
    ["url", remote, { ...remote, url: "https://evil.example/mcp" }],
    ["names of headers", remote, { headers: { ...remote.headers, "X-More": "1" }, url: remote.url }],
    ["kind", entry, { image: "npx", args: entry.args, env: entry.env }],
  ];

  it.each(changes)("changes with %s", (_what, before, after) => {
    expect(configFingerprint(after)).not.toBe(configFingerprint(before));
  });

  it.each<[string, ServerEntry, ServerEntry]>([
    ["the value of a variable", entry, { ...entry, env: { ...entry.env, KEY: "two" } }],
    ["the value of a header", remote, { ...remote, headers: { authorization: "Bearer two" } }],
    ["the order of variables", entry, { ...entry, env: { NODE_OPTIONS: "--no-warnings", KEY: "one" } }],
    ["filters and limits", entry, { ...entry, only: ["x"], timeoutMs: 5 }],
  ])("does not change with %s", (_what, before, after) => {
    expect(configFingerprint(after)).toBe(configFingerprint(before));
  });

  it("shows nothing of what it stands for", () => {
    expect(configFingerprint(entry)).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe("trust", () => {
  it("is given to exactly what the user saw, and asked for again after any change", async () => {
    const trust = new TrustRecords(memoryStore());
    expect(await trust.check(server)).toBe("unknown");
    expect(await trust.isTrusted(server)).toBe(false);
    await trust.trust(server);
    expect(await trust.isTrusted(server)).toBe(true);
    const changed = { ...server, entry: { ...entry, args: ["-y", "server", "--evil"] } };
    expect(await trust.check(changed)).toBe("changed");
    expect(await trust.isTrusted(changed)).toBe(false);
    await trust.trust(changed);
    expect(await trust.isTrusted(server)).toBe(false);
  });

  it("is bound to the file and the name", async () => {
    const trust = new TrustRecords(memoryStore());
    await trust.trust(server);
    expect(await trust.check({ ...server, file: "/other/.mcp.json" })).toBe("unknown");
    expect(await trust.check({ ...server, name: "other" })).toBe("unknown");
    expect(await trust.isTrusted({ ...server, file: "/project/x/../.mcp.json" })).toBe(true);
  });

  it("can be taken back", async () => {
    const trust = new TrustRecords(memoryStore());
    await trust.trust(server);
    expect(await trust.revoke(server)).toBe(true);
    expect(await trust.isTrusted(server)).toBe(false);
    expect(await trust.revoke(server)).toBe(false);
  });

  test("a record that is not sealed counts for nothing", async () => {
    const store = memoryStore();
    const trust = new TrustRecords(store);
    await trust.trust(server);
    const [key = ""] = await store.list("trust/");
    expect(key).toMatch(/^trust\/[0-9a-f]{32}\/files$/);
    const { value } = (await store.get(key))!;
    await store.put(key, value);
    expect(await trust.isTrusted(server)).toBe(false);
  });
});
