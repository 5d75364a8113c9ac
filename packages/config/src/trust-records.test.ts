import type { ServerEntry } from "@toolport/core";
import { memoryStore } from "@toolport/stores";
import { describe, expect, it, test } from "vitest";
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
    ["cwd", entry, { ...entry, cwd: "/tmp" }],
    ["no cwd", entry, { ...entry, cwd: undefined as unknown as string }],
    ["inheritEnv", entry, { ...entry, inheritEnv: true }],
    ["url", remote, { ...remote, url: "https://evil.example/mcp" }],
    ["names of headers", remote, { headers: { ...remote.headers, "X-More": "1" }, url: remote.url }],
    ["the value of a header", remote, { ...remote, headers: { Authorization: "Bearer two" } }],
    ["kind", entry, { image: "npx", args: entry.args, env: entry.env }],
    ["filters", entry, { ...entry, only: ["x"] }],
    ["limits", { ...entry, timeoutMs: 5 }, { ...entry, timeoutMs: 6 }],
    ["the type of a value", { ...entry, timeoutMs: 5 }, { ...entry, timeoutMs: "5" as unknown as number }],
  ];

  it.each(changes)("changes with %s", (_what, before, after) => {
    expect(configFingerprint(after)).not.toBe(configFingerprint(before));
  });

  it.each([
    ...["KEY", "HOME", "PYTHONUSERBASE", "BUN_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "OPENSSL_CONF"],
    ...["DOTNET_STARTUP_HOOKS", "GCONV_PATH", "XDG_CONFIG_HOME", "COREPACK_NPM_REGISTRY", "HTTPS_PROXY"],
    ...["NODE_TLS_REJECT_UNAUTHORIZED", "NODE_EXTRA_CA_CERTS", "SOMETHING_NEW"],
  ])("changes with the value of %s", (name) => {
    const [one, two] = ["one", "two"].map((value) => configFingerprint({ ...entry, env: { [name]: value } }));
    expect(one).not.toBe(two);
  });

  it("does not change with the order of fields", () => {
    const { command, ...rest } = entry;
    const turned = { ...rest, env: { NODE_OPTIONS: "--no-warnings", KEY: "one" }, command };
    expect(configFingerprint(turned)).toBe(configFingerprint(entry));
  });

  it("distinguishes values that are equal in JSON", () => {
    const values = [{}, { a: null }, { a: [] }, { a: "[]" }, { a: {} }, { a: Number.NaN }, { a: 0 }];
    expect(new Set(values.map(configFingerprint)).size).toBe(values.length);
    const own = JSON.parse('{"__proto__":{"a":1}}') as object;
    expect(configFingerprint(own)).not.toBe(configFingerprint({}));
  });

  it("reveals nothing of the entry", () => {
    expect(configFingerprint(entry)).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe("trust", () => {
  it("applies to exactly what the user saw, and ends with any change", async () => {
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

  it("covers the files that the entry refers to, which are read only if the entry is unchanged", async () => {
    const trust = new TrustRecords(memoryStore());
    let content = "A=1";
    let reads = 0;
    const readFiles = async () => {
      reads += 1;
      return { ".env": content };
    };
    expect(await trust.check({ ...server, readFiles })).toBe("unknown");
    expect(reads).toBe(0);
    await trust.trust({ ...server, readFiles });
    expect(await trust.check({ ...server, readFiles })).toBe("trusted");
    content = "A=2";
    expect(await trust.check({ ...server, readFiles })).toBe("filesChanged");
    reads = 0;
    expect(await trust.check({ ...server, entry: { ...entry, command: "other" }, readFiles })).toBe(
      "changed",
    );
    expect(reads).toBe(0);
  });

  it("can be revoked", async () => {
    const trust = new TrustRecords(memoryStore());
    await trust.trust(server);
    expect(await trust.revoke(server)).toBe(true);
    expect(await trust.isTrusted(server)).toBe(false);
    expect(await trust.revoke(server)).toBe(false);
  });

  test("ignores an unencrypted record", async () => {
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
