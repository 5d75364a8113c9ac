/** Redaction of secrets in recordings, and reading of valid and invalid files. */
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createToolport } from "toolport";
import {
  createTestServer,
  type RecordOptions,
  readRecording,
  recordServer,
  replayServer,
} from "toolport/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolport-recording-"));
  file = join(folder, "it.ndjson");
});
afterEach(() => rm(folder, { recursive: true }));

const echo = { echo: { handler: (args: Record<string, unknown>) => `You said ${JSON.stringify(args)}` } };

describe("secrets", () => {
  test("of the entry, and text that looks like a secret, are redacted, and the recording can be replayed", async () => {
    await using server = createTestServer({ era: "legacy", tools: echo });
    const http = await server.http();
    const said = {
      password: "opensesame",
      list: ["a fixed-header-value", "session=asked-for-value", "key-in-the-query"],
      text: "Authorization: Bearer abcdefgh.12345678 and eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
      image: "iVBOR/skABCDEFGHIJKLMNOPQRSTUV+pkABCDEFGHIJKLMNOPQRSTUV=",
    };
    const headers = async () => ({ "x-key": "fixed-header-value", "x-session": "Session asked-for-value" });
    const entry = recordServer({ url: `${http.url}?key=key-in-the-query`, headers }, file);
    {
      await using toolport = createToolport({ mcpServers: { it: entry } });
      expect((await toolport.callTool("it__echo", said)).text).toContain("opensesame");
    }
    const text = await readFile(file, "utf8");
    for (const secret of ["opensesame", "fixed-header", "asked-for", "in-the-query", "abcdefgh.", "eyJ"]) {
      // The response repeats the value inside text, where no field name marks it as a secret.
      const shown = secret === "opensesame" ? text.split('"from":"server"')[0]! : text;
      expect(shown).not.toContain(secret);
    }
    expect(text).toContain(said.image);
    expect((await stat(file)).mode & 0o077).toBe(0);

    await using toolport = createToolport({ mcpServers: { it: replayServer(file) } });
    const { text: answer } = await toolport.callTool("it__echo", said);
    expect(answer).toContain("[redacted: x-key]");
    await expect(toolport.callTool("it__echo", { ...said, image: "" })).rejects.toMatchObject({
      rpcCode: -32602,
    });
  });

  test("of a process are redacted wherever the process repeats them", async () => {
    await using server = createTestServer({
      tools: { env: { handler: () => "SECRET=from-the-environment" } },
    });
    const { entry } = await server.stdio();
    await using toolport = createToolport({
      mcpServers: { it: recordServer({ ...entry, env: { SECRET: "from-the-environment" } }, file) },
    });
    await toolport.callTool("it__env");
    expect(await readFile(file, "utf8")).toContain("SECRET=[redacted: SECRET]");
  });

  test("of other kinds can be redacted by the user, and whole messages omitted", async () => {
    await using server = createTestServer({ tools: echo });
    const redact: RecordOptions["redact"] = (message) =>
      message.method?.startsWith("notifications/")
        ? undefined
        : (JSON.parse(JSON.stringify(message).replaceAll("Ada", "[redacted: name]")) as typeof message);
    {
      const entry = recordServer(server.memory(), file, { redact });
      await using toolport = createToolport({ mcpServers: { it: entry } });
      await toolport.callTool("it__echo", { name: "Ada" });
    }
    const { messages } = await readRecording(file);
    expect(JSON.stringify(messages)).not.toContain("Ada");
    expect(messages.some(({ message }) => message.method?.startsWith("notifications/"))).toBe(false);
    await using toolport = createToolport({ mcpServers: { it: replayServer(file) } });
    expect((await toolport.callTool("it__echo", { name: "Bob" })).text).toContain("[redacted: name]");
  });
});

describe("a recording", () => {
  test("contains a handshake even if the era is remembered, and replaces the previous one", async () => {
    await using server = createTestServer({ tools: echo });
    const entry = recordServer(server.memory(), file);
    await using toolport = createToolport({ mcpServers: { it: entry } });
    await toolport.connect();
    await toolport.disconnect("it");
    await toolport.connectServer("it");
    await toolport.callTool("it__echo", {});
    const { messages, recordedAt } = await readRecording(file);
    const handshakes = messages.filter(({ message }) => message.method === "server/discover");
    expect(handshakes.map(({ connection }) => connection)).toEqual([1, 2]);
    expect(Date.parse(recordedAt)).toBeGreaterThan(Date.now() - 600_000);

    await using again = createToolport({ mcpServers: { it: recordServer(server.memory(), file) } });
    await again.connect();
    expect((await readRecording(file)).messages.at(-1)?.connection).toBe(1);
  });

  test("that cannot be written does not affect the server", async () => {
    await using server = createTestServer({ tools: echo });
    const errors: unknown[] = [];
    const onError = (error: Error) => {
      errors.push((error as NodeJS.ErrnoException).code);
      throw error;
    };
    const entry = recordServer(server.memory(), folder, { onError });
    await using toolport = createToolport({ mcpServers: { it: entry } });
    expect(await toolport.callTool("it__echo", {})).toMatchObject({ isError: false });
    expect(errors).toEqual(["EISDIR"]);
  });

  test("with an incomplete last line is read up to that line", async () => {
    await using server = createTestServer({ era: "legacy", tools: echo });
    {
      await using toolport = createToolport({ mcpServers: { it: recordServer(server.memory(), file) } });
      await toolport.callTool("it__echo", { n: 1 });
    }
    const text = await readFile(file, "utf8");
    const whole = (await readRecording(file)).messages.length;
    await writeFile(file, text.slice(0, -20));
    expect((await readRecording(file)).messages).toHaveLength(whole - 1);
    const retry = false;
    await using toolport = createToolport({ mcpServers: { it: replayServer(file) }, retry });
    await expect(toolport.callTool("it__echo", { n: 1 })).rejects.toThrow("no response to tools/call");
  });

  test.each([
    ["{}\n", "is not the first line of a recording"],
    ["", "is not the first line of a recording"],
    ['{"format":"toolport-recording","version":9}\n', "has version 9, but only version 1 is supported"],
    ['{"format":"toolport-recording","version":1}\n\n7\n', "is not a message"],
  ])("with the content %j is rejected", async (text, message) => {
    await writeFile(file, text);
    const issue = { file, message };
    await expect(readRecording(file)).rejects.toMatchObject({ code: "INVALID_CONFIG", issues: [issue] });
  });

  test("that does not exist fails the connection of the replay server", async () => {
    await using toolport = createToolport({ mcpServers: { it: replayServer(file) } });
    expect((await toolport.connect()).servers["it"]?.error).toMatchObject({
      code: "UNREADABLE_CONFIG",
      message: expect.stringContaining("it.ndjson"),
    });
  });

  test("requires a valid entry", () => {
    expect(() => recordServer({ url: "nowhere" }, file)).toThrow(/url/);
  });
});
