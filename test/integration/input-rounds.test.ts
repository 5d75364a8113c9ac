/** Calls that a modern server finishes only with more input (`input_required`). */
import { inputRequired } from "@modelcontextprotocol/server";
import { createTestServer, type TestTool } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { MAX_ROUNDS, MAX_STATE_BYTES } from "../../packages/core/src/protocol/input-rounds.js";
import type { RequestOrigin } from "../../packages/core/src/protocol/server-requests/sampling-and-roots.js";
import { dependsOnInput } from "../../packages/core/src/protocol/session.js";
import { type OpenTestSession, openTestSession } from "../support/open-test-session.js";
import { waitFor } from "../support/wait-for.js";

const form = (properties: Record<string, unknown>, required: string[] = []) =>
  inputRequired.elicit({
    message: "Who?",
    requestedSchema: { type: "object", properties, required } as never,
  });

const STATE = '{"nonce":"\\u00e9 ü \\" \\\\ 💡","n":1e3,  "x":null}';

const tools: Record<string, TestTool> = {
  name: {
    handler(_args, { request }) {
      const { inputResponses } = request.mcpReq;
      if (inputResponses !== undefined) return JSON.stringify(inputResponses);
      return inputRequired({
        inputRequests: {
          who: form({ name: { type: "string", default: "Ada" }, age: { type: "integer" } }, ["name"]),
        },
      });
    },
  },
  all: {
    handler(_args, { request }) {
      const { inputResponses } = request.mcpReq;
      if (inputResponses !== undefined) return JSON.stringify(inputResponses);
      const messages = [{ role: "user" as const, content: { type: "text" as const, text: "2+2?" } }];
      return inputRequired({
        inputRequests: {
          form: form({ ok: { type: "boolean" } }),
          page: inputRequired.elicitUrl({ message: "Pay", url: "https://pay.example/" }),
          model: inputRequired.createMessage({ messages, maxTokens: 10 }),
          roots: inputRequired.listRoots(),
        },
      });
    },
  },
  state: {
    handler(_args, { request }) {
      const state = request.mcpReq.requestState();
      if (state === undefined)
        return inputRequired({ inputRequests: { who: form({}) }, requestState: STATE });
      return state === STATE ? "the same" : `different: ${state}`;
    },
  },
  patience: {
    async handler(_args, { request, progress }) {
      const count = Number(request.mcpReq.requestState() ?? 0);
      await progress(count + 1);
      return count === 2 ? "done" : inputRequired({ requestState: String(count + 1) });
    },
  },
  endless: { handler: () => inputRequired({ inputRequests: { who: form({}) } }) },
  heavy: { handler: () => inputRequired({ requestState: "x".repeat(MAX_STATE_BYTES + 1) }) },
  crowd: {
    handler: () =>
      inputRequired({
        inputRequests: Object.fromEntries(
          Array.from({ length: 1_000 }, (_, index) => [`ask${index}`, form({})]),
        ),
      }),
  },
};

const makeServer = () => createTestServer({ tools, era: "modern" });

const textOf = (result: Record<string, unknown>) => (result["content"] as [{ text: string }])[0].text;

/** `tools/call` requests as sent. */
const legs = ({ wire }: OpenTestSession) =>
  wire
    .filter(({ direction, message }) => direction === "sent" && message["method"] === "tools/call")
    .map(({ message }) => message as { id: string; params: Record<string, unknown> });

describe.each(["memory", "http"] as const)("over %s", (transport) => {
  async function open(
    server: ReturnType<typeof makeServer>,
    options: Parameters<typeof openTestSession>[1] = {},
  ) {
    const entry = transport === "memory" ? server.memory() : (await server.http()).entry;
    return openTestSession(entry, options);
  }

  test("a form is filled in with its defaults, and the call continues under a new id", async () => {
    await using server = makeServer();
    const seen: unknown[] = [];
    await using opened = await open(server, {
      onElicitation(request, { signal, ...origin }) {
        seen.push([request.mode, request.message, origin]);
        return { action: "accept", content: { age: 36 } };
      },
    });
    expect(opened.session.era).toBe("modern");
    const result = await opened.call("name", { args: { x: 1 } });
    expect(JSON.parse(textOf(result))).toEqual({
      who: { action: "accept", content: { name: "Ada", age: 36 } },
    });
    expect(seen).toEqual([["form", "Who?", { server: "test", tool: "name" }]]);
    const [first, second] = legs(opened);
    expect(second?.id).not.toBe(first?.id);
    expect(second?.params).toMatchObject({ name: "name", arguments: { x: 1 } });
    expect(second?.params).not.toHaveProperty("requestState");
    expect(dependsOnInput(result)).toBe(true);
  });

  test("the request state is sent back unchanged", async () => {
    await using server = makeServer();
    await using opened = await open(server, { onElicitation: () => ({ action: "decline" }) });
    expect(textOf(await opened.call("state"))).toBe("the same");
    expect(legs(opened)[1]?.params["requestState"]).toBe(STATE);
  });

  test("aborting the call aborts the callback", async () => {
    await using server = makeServer();
    const caller = new AbortController();
    let origin: RequestOrigin | undefined;
    await using opened = await open(server, {
      onElicitation(_request, from) {
        origin = from;
        // The callback ignores the signal: the call must end nevertheless.
        return new Promise(() => {});
      },
    });
    const calling = opened.call("name", { signal: caller.signal });
    await waitFor(() => origin);
    const reason = new Error("changed my mind");
    caller.abort(reason);
    await expect(calling).rejects.toBe(reason);
    expect(origin?.signal).toMatchObject({ aborted: true, reason });
    expect(legs(opened)).toHaveLength(1);
  });
});

describe("answers", () => {
  test.each(["decline", "cancel"] as const)("%s is passed on", async (action) => {
    await using server = makeServer();
    await using opened = await openTestSession(server.memory(), { onElicitation: () => ({ action }) });
    expect(JSON.parse(textOf(await opened.call("name")))).toEqual({ who: { action } });
  });

  test("all kinds of input requests in one round are answered together", async () => {
    await using server = makeServer();
    await using opened = await openTestSession(server.memory(), {
      onElicitation: {
        form: () => ({ action: "accept", content: { ok: true } }),
        url: ({ host }) => (host === "pay.example" ? { action: "accept" } : { action: "decline" }),
      },
      onSampling: () => ({ role: "assistant", model: "abacus", content: { type: "text", text: "4" } }),
      roots: [{ uri: "file:///home/ada", name: "home" }],
    });
    expect(JSON.parse(textOf(await opened.call("all")))).toEqual({
      form: { action: "accept", content: { ok: true } },
      page: { action: "accept" },
      model: { role: "assistant", model: "abacus", content: { type: "text", text: "4" } },
      roots: { roots: [{ uri: "file:///home/ada", name: "home" }] },
    });
  });

  test("an input that does not match its schema ends the call with the problems, and is not sent", async () => {
    await using server = makeServer();
    await using opened = await openTestSession(server.memory(), {
      onElicitation: () => ({ action: "accept", content: { age: "s3cret" } }),
    });
    await expect(opened.call("name")).rejects.toMatchObject({
      code: "INVALID_ARGUMENTS",
      server: "test",
      tool: "name",
      issues: [{ path: "age", message: "must be a whole number" }],
    });
    expect(JSON.stringify(opened.wire)).not.toContain("s3cret");
  });

  test("a callback that throws ends the call with its error as the cause", async () => {
    await using server = makeServer();
    const cause = new Error("the dialog broke");
    await using opened = await openTestSession(server.memory(), {
      onElicitation: () => Promise.reject(cause),
    });
    await expect(opened.call("name")).rejects.toMatchObject({ code: "REFUSED", cause, tool: "name" });
  });
});

test("the SDK's client gets input, too, without a tool name", async () => {
  await using server = makeServer();
  const seen: unknown[] = [];
  await using opened = await openTestSession(server.memory(), {
    onElicitation(_request, { signal, ...origin }) {
      seen.push(origin);
      return { action: "accept" };
    },
  });
  const result = await (await opened.session.client()).callTool({ name: "name" });
  expect(JSON.parse(textOf(result))).toEqual({ who: { action: "accept", content: { name: "Ada" } } });
  expect(seen).toEqual([{ server: "test" }]);
});

describe("limits", () => {
  test("a state without requests is sent back after a pause; progress of every round is reported", async () => {
    await using server = makeServer();
    await using opened = await openTestSession(server.memory());
    const heard: number[] = [];
    const startedAt = performance.now();
    const result = await opened.call("patience", { onProgress: ({ progress }) => heard.push(progress) });
    expect(textOf(result)).toBe("done");
    expect(performance.now() - startedAt).toBeGreaterThan(480);
    expect(heard).toEqual([1, 2, 3]);
  });

  test(`a server that always asks again is given up after ${MAX_ROUNDS} rounds`, async () => {
    await using server = makeServer();
    await using opened = await openTestSession(server.memory(), {
      onElicitation: () => ({ action: "accept" }),
    });
    await expect(opened.call("endless")).rejects.toMatchObject({
      code: "PROTOCOL",
      what: expect.stringContaining("10 rounds"),
      result: { resultType: "input_required" },
    });
    expect(legs(opened)).toHaveLength(MAX_ROUNDS + 1);
  });

  test("a state over the limit is refused", async () => {
    await using server = makeServer();
    await using opened = await openTestSession(server.memory());
    await expect(opened.call("heavy")).rejects.toMatchObject({ code: "PROTOCOL" });
    expect(legs(opened)).toHaveLength(1);
  });

  test("too many requests in one round are not answered", async () => {
    await using server = makeServer();
    let asked = 0;
    await using opened = await openTestSession(server.memory(), {
      onElicitation: (_request, { signal }) => {
        asked += 1;
        return new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
        );
      },
    });
    await expect(opened.call("crowd")).rejects.toMatchObject({ code: "OVERLOADED" });
    expect(asked).toBe(1);
    expect(legs(opened)).toHaveLength(1);
  });

  test("the user may take longer than the idle timeout, but not longer than the hard cap", async () => {
    await using server = makeServer();
    let signal: AbortSignal | undefined;
    let thinkMs = 300;
    await using opened = await openTestSession(server.memory(), {
      onElicitation: async (_request, origin) => {
        signal = origin.signal;
        await new Promise((resolve) => setTimeout(resolve, thinkMs));
        return { action: "decline" };
      },
    });
    expect(textOf(await opened.call("name", { timeoutMs: 100 }))).toContain("decline");
    thinkMs = 600;
    await expect(opened.call("name", { timeoutMs: 100, maxTimeoutMs: 200 })).rejects.toMatchObject({
      code: "TIMEOUT",
      phase: "input",
    });
    expect(signal?.aborted).toBe(true);
  });

  test("a lost connection ends the wait with an unknown outcome", async () => {
    await using server = makeServer();
    let signal: AbortSignal | undefined;
    await using opened = await openTestSession(server.memory(), {
      onElicitation(_request, origin) {
        signal = origin.signal;
        return new Promise(() => {});
      },
    });
    const calling = opened.call("name");
    const outcome = expect(calling).rejects.toMatchObject({ code: "CLOSED", outcome: "unknown" });
    await waitFor(() => signal);
    await opened.session.close();
    await outcome;
    expect(signal?.aborted).toBe(true);
  });

  test("a retiring session finishes its rounds", async () => {
    await using server = makeServer();
    let answer: ((answer: { action: "decline" }) => void) | undefined;
    await using opened = await openTestSession(server.memory(), {
      onElicitation: () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    });
    const calling = opened.call("name");
    await waitFor(() => answer);
    const retiring = opened.session.retire();
    answer?.({ action: "decline" });
    expect(textOf(await calling)).toContain("decline");
    await retiring;
  });
});
