/** Replicas of a gateway that are killed with -9 in the middle of calls and questions. Uses the built package. */
import { randomBytes } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inputRequired } from "@modelcontextprotocol/server";
import { createTestServer, type TestToolContext } from "toolport/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startFleet } from "../../../scripts/replicas/fleet.mjs";
import { callModern, openRaw, sendModern, textOfReply } from "./support/raw-gateway-client.js";

const KEY = "TOOLPORT_STORE_KEY";
const before = process.env[KEY];
const folder = mkdtempSync(join(tmpdir(), "toolport-killed-replicas-"));
beforeAll(() => {
  process.env[KEY] = randomBytes(32).toString("base64");
});
afterAll(() => {
  if (before === undefined) delete process.env[KEY];
  else process.env[KEY] = before;
  rmSync(folder, { recursive: true, force: true });
});

const FORM = { elicitation: { form: {} } };
const ADA = { token: "client-ada" };
const UNKNOWN = { error: { code: -32603, data: { outcome: "unknown", retryable: false } } };

/** Two replicas in front of one server; `kill` ends the first. */
async function openReplicas(era: "modern" | "legacy", policy?: object) {
  const news = new EventEmitter();
  const server = createTestServer({
    era,
    tools: {
      wait: {
        handler(_args, { signal }) {
          news.emit("started");
          return new Promise<string>((resolve) => {
            signal.addEventListener("abort", () => resolve("cancelled"));
          });
        },
      },
      ask: {
        handler(_args, { request }: TestToolContext) {
          const { name } = (request.mcpReq.inputResponses ?? {}) as Record<
            string,
            { content?: { name?: string } }
          >;
          if (name !== undefined) return `Hello ${name.content?.name}`;
          return inputRequired({
            inputRequests: {
              name: inputRequired.elicit({
                message: "Your name?",
                requestedSchema: { type: "object", properties: { name: { type: "string" } } },
              } as never),
            },
            requestState: "asked once",
          });
        },
      },
      echo: { handler: () => "ok" },
    },
  });
  const { url } = await server.http();
  const protocol = era === "legacy" ? "legacy" : ({ pin: "2026-07-28" } as const);
  const fleet = await startFleet(2, {
    servers: { one: { url, protocol } },
    store: { kind: "sqlite", path: join(folder, `${era}-${Date.now()}.db`) },
    ...(policy && { policy }),
  });
  const [first, second] = fleet.replicas.map(({ port }) => `http://127.0.0.1:${port}/mcp`) as [
    string,
    string,
  ];
  return {
    server,
    news,
    first,
    second,
    async kill() {
      const { child, exited } = fleet.replicas[0]!;
      child.kill("SIGKILL");
      await exited;
    },
    async [Symbol.asyncDispose]() {
      await fleet.close();
      await server.close();
    },
  };
}

/** The answer of a modern client to the question in a result. */
function answerTo(result: Record<string, unknown> | undefined) {
  const [key = ""] = Object.keys(result?.["inputRequests"] as object);
  return {
    name: "one__ask",
    arguments: {},
    requestState: result?.["requestState"],
    inputResponses: { [key]: { action: "accept", content: { name: "Ada" } } },
  };
}

describe("G07 a replica is killed in the middle of a call", () => {
  test.each(["modern", "legacy"] as const)(
    "the client sees a cut stream, and the call to a %s server runs once",
    async (era) => {
      await using replicas = await openReplicas(era);
      const { first, second, server, news } = replicas;
      expect(textOfReply(await callModern(second, "one__echo", {}, { token: "client-bob" }))).toBe("ok");
      const started = once(news, "started");
      const call = openRaw(first, "tools/call", { name: "one__wait", arguments: {} }, ADA).response;
      const cut = expect(call).rejects.toThrow();
      await started;
      await replicas.kill();
      await cut;
      for (const token of ["client-ada", "client-bob"])
        expect(textOfReply(await callModern(second, "one__echo", {}, { token }))).toBe("ok");
      expect(server.calls.filter(({ name }) => name === "wait")).toHaveLength(1);
    },
  );
});

describe("G07 a replica is killed in the middle of an approved call", () => {
  test("the same state at another replica, before and after: outcome unknown, and the call runs once", async () => {
    await using replicas = await openReplicas("modern", { default: "approve", rules: [] });
    const { first, second, server, news } = replicas;
    const options = { ...ADA, capabilities: FORM };
    const { message } = await callModern(first, "one__wait", {}, options);
    const approved = {
      name: "one__wait",
      arguments: {},
      requestState: message.result?.["requestState"],
      inputResponses: { approval: { action: "accept", content: { allow: true } } },
    };
    const started = once(news, "started");
    const cut = expect(openRaw(first, "tools/call", approved, options).response).rejects.toThrow();
    await started;
    const waiting = sendModern(second, "tools/call", approved, options);
    await replicas.kill();
    await cut;
    expect((await waiting).message).toMatchObject(UNKNOWN);
    expect((await sendModern(second, "tools/call", approved, options)).message).toMatchObject(UNKNOWN);
    expect(server.calls.filter(({ name }) => name === "wait")).toHaveLength(1);
  });
});

describe("G08 a replica is killed while a client is asked", () => {
  test("the answer of a legacy client to another replica: outcome unknown", async () => {
    await using replicas = await openReplicas("legacy");
    const { first, second } = replicas;
    const asked = await askLegacyClient(first);
    await replicas.kill();
    await asked.cut;
    const answer = { jsonrpc: "2.0", id: asked.id, result: { action: "accept", content: { name: "Ada" } } };
    const reply = await postLegacy(second, answer, asked.session);
    expect(reply.status).toBe(500);
    expect(await reply.json()).toMatchObject(UNKNOWN);
    expect(textOfReply(await callModern(second, "one__echo", {}, ADA))).toBe("ok");
  });

  test("a call that is parked there: outcome unknown", async () => {
    await using replicas = await openReplicas("legacy");
    const { first, second } = replicas;
    const options = { ...ADA, capabilities: FORM };
    const { message } = await callModern(first, "one__ask", {}, options);
    expect(message.result).toMatchObject({ resultType: "input_required" });
    await replicas.kill();
    const reply = await sendModern(second, "tools/call", answerTo(message.result), options);
    expect(reply.message).toMatchObject(UNKNOWN);
  });

  test("a modern server: the next round works on any replica", async () => {
    await using replicas = await openReplicas("modern");
    const { first, second } = replicas;
    const options = { ...ADA, capabilities: FORM };
    const { message } = await callModern(first, "one__ask", {}, options);
    expect(message.result).toMatchObject({ resultType: "input_required" });
    await replicas.kill();
    const reply = await sendModern(second, "tools/call", answerTo(message.result), options);
    expect(textOfReply(reply)).toBe("Hello Ada");
  });
});

const postLegacy = (url: string, body: object, session?: string): Promise<Response> =>
  fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: "Bearer client-ada",
      ...(session !== undefined && { "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" }),
    },
    body: JSON.stringify(body),
  });

/** Calls a tool that asks, and returns the id of the question. The stream stays open. */
async function askLegacyClient(url: string) {
  const clientInfo = { name: "legacy-client", version: "1" };
  const params = { protocolVersion: "2025-11-25", capabilities: FORM, clientInfo };
  const started = await postLegacy(url, { jsonrpc: "2.0", id: 1, method: "initialize", params });
  const session = started.headers.get("mcp-session-id")!;
  const call = { name: "one__ask", arguments: {} };
  const { body } = await postLegacy(
    url,
    { jsonrpc: "2.0", id: 2, method: "tools/call", params: call },
    session,
  );
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let id: string | undefined;
  while (id === undefined) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`No question: ${text}`);
    text += value;
    id = /"id":"([^"]+)","method":"elicitation\/create"/.exec(text)?.[1];
  }
  return { id, session, cut: expect(reader.read()).rejects.toThrow() };
}
