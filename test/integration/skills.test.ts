/** Skills: listed without reading, and verified when read, with the SDK's server in both eras and with lying servers. */
import { createHash } from "node:crypto";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { memorySkillFiles, SkillsExtension } from "@modelcontextprotocol/server/ext/skills";
import { createToolport, type ToolportOptions } from "toolport";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startJsonRpcServer } from "../fixtures/servers/http-json-rpc.js";
import { type ScriptedServer, startScriptedServer } from "../fixtures/servers/http-scripted.js";
import { failure } from "../support/failure.js";
import { type LeakSnapshot, takeLeakSnapshot, waitForNoLeaks } from "../support/leaks.js";

let before: LeakSnapshot;
beforeEach(() => {
  before = takeLeakSnapshot();
});
afterEach(() => waitForNoLeaks(before));

const manifest = `---
name: tides
description: When the sea comes and goes
---

# Tides

See references/TABLE.md.
`;
const FILES = { "tides/SKILL.md": manifest, "tides/references/TABLE.md": "06:12 high\n" };

interface SkillServer extends AsyncDisposable {
  readonly entry: { url: string };
  /** Methods in the order of their arrival. */
  asked(): string[];
  readonly http: ScriptedServer;
}

/** A real server of the SDK with skills. */
async function startSkillServer(): Promise<SkillServer> {
  const catalog = await SkillsExtension.load(memorySkillFiles(FILES));
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "skills", version: "1.0.0" }, { capabilities: { resources: {} } });
    catalog.attach(server);
    return server;
  });
  const http = await startScriptedServer(async ({ method, path, headers, body }, response) => {
    const given = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
    const init = { method, headers: given, ...(body !== "" && { body }) };
    const answer = await handler.fetch(new Request(`http://127.0.0.1${path}`, init));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  });
  return {
    entry: { url: `${http.url}/mcp` },
    asked: () => http.seen.flatMap(({ message }) => message?.method ?? []),
    http,
    async [Symbol.asyncDispose]() {
      await handler.close();
      await http.close();
    },
  };
}

const sha256 = (text: string) => `sha256:${createHash("sha256").update(text).digest("hex")}`;

/** A correct list entry for this text. */
const entryOf = (uri: string, text: string, name = "tides") => ({
  uri,
  frontmatter: { name, description: "When the sea comes and goes" },
  resources: [{ uri, digest: sha256(text), size: Buffer.byteLength(text) }],
});

const URI = "skill://tides/SKILL.md";

/** A server that lists these entries, and returns this text for every read. */
const startLiar = (
  entries: unknown[],
  text: string,
  extensions: object = { "io.modelcontextprotocol/skills": {} },
) =>
  startJsonRpcServer({
    "server/discover": () => ({
      resultType: "complete",
      supportedVersions: ["2026-07-28"],
      capabilities: { resources: {}, extensions },
    }),
    "skills/list": () => ({ resultType: "complete", ttlMs: 0, cacheScope: "private", skills: entries }),
    "resources/read": ({ params }) => ({
      resultType: "complete",
      ttlMs: 0,
      cacheScope: "private",
      contents: [{ uri: params["uri"], mimeType: "text/markdown", text }],
    }),
  });

const open = (entry: object, options: ToolportOptions = {}) =>
  createToolport({ mcpServers: { docs: entry as { url: string } }, ...options });

describe.each(["legacy", { pin: "2026-07-28" }] as const)("the SDK's server, protocol %o", (protocol) => {
  test("lists without reading, and reads what was listed", async () => {
    await using server = await startSkillServer();
    await using toolport = open({ ...server.entry, protocol });
    const skills = toolport.skills("docs");
    const [skill, ...others] = await skills.list();
    expect(others).toEqual([]);
    expect(skill).toMatchObject({
      server: "docs",
      name: "tides",
      description: "When the sea comes and goes",
      frontmatter: { name: "tides" },
    });
    expect(server.asked()).not.toContain("resources/read");
    const main = await skills.read(skill!);
    expect(main).toMatchObject({ verified: true, frontmatter: { name: "tides" }, text: manifest });
    expect(main.body).toContain("# Tides");
    // The same file by name, by URI and by path. An entry that was stored as JSON works like a listed one.
    expect((await skills.read("tides")).text).toBe(manifest);
    expect((await skills.read(skill!.uri)).text).toBe(manifest);
    const table = await skills.read(JSON.parse(JSON.stringify(skill)), "references/TABLE.md");
    expect(new TextDecoder().decode(table.bytes)).toBe("06:12 high\n");
    expect(table.verified).toBe(true);
  });

  test("unknown skills and files are not found", async () => {
    await using server = await startSkillServer();
    await using toolport = open({ ...server.entry, protocol });
    const skills = toolport.skills("docs");
    const asked = server.asked().length;
    expect(await failure(skills.read("tide"))).toMatchObject({
      code: "RESOURCE_NOT_FOUND",
      suggestions: ["tides"],
    });
    expect(server.asked().length).toBeGreaterThan(asked);
    expect(await failure(skills.read("tides", "../../etc/passwd"))).toMatchObject({
      code: "RESOURCE_NOT_FOUND",
    });
    expect(server.asked()).not.toContain("resources/read");
    expect(await failure(skills.read("skill://none/SKILL.md"))).toMatchObject({ code: "RESOURCE_NOT_FOUND" });
    expect(await failure(toolport.skills("unknown").list())).toMatchObject({ code: "UNKNOWN_SERVER" });
  });

  test("an abort passes through, and cut sockets are replaced", async () => {
    await using server = await startSkillServer();
    await using toolport = open({ ...server.entry, protocol });
    const skills = toolport.skills("docs");
    const [skill] = await skills.list();
    const reason = new Error("enough");
    expect(await failure(skills.list({ signal: AbortSignal.abort(reason) }))).toBe(reason);
    for (const socket of server.http.sockets) socket.destroy();
    expect((await skills.read(skill!)).verified).toBe(true);
  });
});

describe("a server that lies about its skills", () => {
  const other = manifest.replace("goes", "stays");
  test.each([
    ["digest", manifest.replace("high", "High").replace("# Tides", "# Tidez"), entryOf(URI, manifest)],
    ["size", `${manifest}more`, entryOf(URI, manifest)],
    ["frontmatter", other, entryOf(URI, other)],
  ])("wrong %s: nothing is given back", async (reason, text, entry) => {
    await using server = await startLiar([entry], text);
    await using toolport = open(server.entry);
    const skills = toolport.skills("docs");
    const [skill] = await skills.list();
    const error = await failure(skills.read(skill!));
    expect(error).toMatchObject({ code: "PROTOCOL", server: "docs", data: { reason, uri: URI } });
    expect(JSON.stringify(error)).not.toContain("# Tid");
  });

  test("an invalid entry affects only itself", async () => {
    const good = entryOf(URI, manifest);
    const entries = [
      { uri: "skill://bad/SKILL.md" },
      good,
      entryOf("skill://upper/SKILL.md", "x", "UPPER CASE"),
    ];
    await using server = await startLiar(entries, manifest);
    await using toolport = open(server.entry);
    const warnings: string[] = [];
    toolport.on("warning", ({ message }) => warnings.push(message));
    const skills = toolport.skills("docs");
    expect((await skills.list()).map(({ name }) => name)).toEqual(["tides"]);
    expect(warnings.filter((text) => text.includes("skill://bad/SKILL.md"))).toHaveLength(1);
    expect(warnings.filter((text) => text.includes("is left out"))).toHaveLength(2);
    expect((await skills.read("tides")).verified).toBe(true);
    expect(
      await failure(skills.read({ ...good, server: "docs", name: "?", description: "?", files: [] })),
    ).toMatchObject({
      code: "INVALID_ARGUMENTS",
    });
  });

  test("two skills of one name are both listed, and can be read by URI, by path or by entry", async () => {
    const [ours, theirs] = ["skill://ours/tides/SKILL.md", "skill://theirs/tides/SKILL.md"];
    await using server = await startLiar([entryOf(ours, manifest), entryOf(theirs, manifest)], manifest);
    await using toolport = open(server.entry);
    const skills = toolport.skills("docs");
    const listed = await skills.list();
    expect(listed.map(({ name, uri }) => [name, uri])).toEqual([
      ["tides", ours],
      ["tides", theirs],
    ]);
    expect(await failure(skills.read("tides"))).toMatchObject({
      code: "RESOURCE_NOT_FOUND",
      what: '2 skills are named "tides"',
      next: `Give the address of one: ${ours} or ${theirs}`,
      suggestions: [ours, theirs],
      outcome: "unsent",
    });
    // The server has no skills/get, only a list.
    for (const uri of [ours, theirs]) expect(await skills.read(uri)).toMatchObject({ uri, verified: true });
    for (const skill of listed) expect(await skills.read(skill)).toMatchObject({ uri: skill.uri });
    expect(await skills.read("theirs/tides")).toMatchObject({ uri: theirs });
    expect(await failure(skills.read("skill://nowhere/SKILL.md"))).toMatchObject({
      code: "RESOURCE_NOT_FOUND",
    });
    expect(await failure(skills.read("nowhere/tides"))).toMatchObject({ code: "RESOURCE_NOT_FOUND" });
  });

  test("a server without skills lists none and reads none", async () => {
    await using server = await startLiar([], "", {});
    await using toolport = open(server.entry);
    expect(await toolport.skills("docs").list()).toEqual([]);
    expect(await failure(toolport.skills("docs").read(URI))).toMatchObject({
      code: "NOT_OFFERED",
      outcome: "unsent",
    });
    expect(server.asked).not.toContain("skills/list");
  });
});
