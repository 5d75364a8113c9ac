import { describe, expect, test } from "vitest";
import { ConnectionError } from "../errors/connection-error.js";
import { createLinkedTransports } from "../transports/memory/linked-transports.js";
import { answerRounds, MAX_STATE_BYTES, needsInput, type RoundsFlow } from "./input-rounds.js";
import { Lane } from "./request-channel.js";
import type { RequestDesk } from "./server-requests/request-responder.js";
import type { ServerRequestOptions } from "./server-requests/server-request-options.js";
import { createServerRequests } from "./server-requests/server-requests.js";

const COMPLETE = { resultType: "complete", content: [] };

/** A desk without a client: requests inside results need none. */
const desk = (options: ServerRequestOptions = {}): RequestDesk =>
  createServerRequests({ ...options, report() {} }).attach(
    new Lane(createLinkedTransports()[0], "shop"),
    "shop",
  ).desk;

function flow(changes: Partial<RoundsFlow> = {}): RoundsFlow & { sent: Record<string, unknown>[] } {
  const sent: Record<string, unknown>[] = [];
  return {
    server: "shop",
    method: "tools/call",
    params: { name: "buy" },
    options: { timeoutMs: 1_000, maxTimeoutMs: 1_000 },
    startedAt: performance.now(),
    desk: desk(),
    gone: new AbortController().signal,
    send: async (params) => {
      sent.push(params);
      return COMPLETE;
    },
    sent,
    ...changes,
  };
}

const wants = (fields: Record<string, unknown>) => ({ resultType: "input_required", ...fields });
const asks = (method: string, params: Record<string, unknown> = {}) =>
  wants({ inputRequests: { one: { method, params } } });

test("only three methods may take several rounds", () => {
  const result = wants({});
  for (const method of ["tools/call", "prompts/get", "resources/read"])
    expect(needsInput(method, result)).toBe(true);
  for (const method of ["tools/list", "completion/complete"]) expect(needsInput(method, result)).toBe(false);
  for (const other of [COMPLETE, {}, null, undefined, "input_required"])
    expect(needsInput("tools/call", other)).toBe(false);
});

test("the next round carries the answers besides what was asked in the first place", async () => {
  const running = flow({
    method: "resources/read",
    params: { uri: "shop://x", _meta: { a: 1 } },
    desk: desk({ roots: ({ tool }) => [{ uri: `file:///${tool}` }] }),
  });
  const first = wants({ inputRequests: { where: { method: "roots/list" } }, requestState: "" });
  expect(await answerRounds(first, running)).toBe(COMPLETE);
  expect(running.sent).toEqual([
    {
      uri: "shop://x",
      _meta: { a: 1 },
      inputResponses: { where: { roots: [{ uri: "file:///undefined" }] } },
      requestState: "",
    },
  ]);
});

describe("what nothing serves", () => {
  const form = { message: "Who?", requestedSchema: { type: "object", properties: {} } };
  const sampling = { messages: [], maxTokens: 1 };
  const onSampling = () => ({ role: "assistant", model: "m", content: { type: "text", text: "" } }) as const;

  test.each([
    ["a form", asks("elicitation/create", form), {}, "fill in a form", "`onElicitation`"],
    [
      "a web page",
      asks("elicitation/create", { mode: "url", message: "Pay", url: "https://pay.example" }),
      { onElicitation: () => ({ action: "decline" }) as const },
      "open a web page",
      "`onElicitation: { url }`",
    ],
    ["a completion", asks("sampling/createMessage", sampling), {}, "a completion", "`onSampling`"],
    [
      "a completion with tools",
      asks("sampling/createMessage", { ...sampling, tools: [] }),
      { onSampling },
      "with tools",
      "`onSampling: { handle, tools: true }`",
    ],
    ["roots", asks("roots/list"), {}, "directories", "`roots`"],
  ] as const)("%s: the error names it, and the option that would serve it", async (...row) => {
    const [, first, options, wanted, option] = row;
    const running = flow({ desk: desk(options as ServerRequestOptions) });
    await expect(answerRounds(first, running)).rejects.toMatchObject({
      code: "PROTOCOL",
      server: "shop",
      tool: "buy",
      what: expect.stringContaining(wanted),
      next: expect.stringContaining(option),
    });
    expect(running.sent).toEqual([]);
  });
});

describe("what is not MCP", () => {
  test.each([
    ["nothing wanted", wants({})],
    ["an empty wish", wants({ inputRequests: {} })],
    ["a state that is no text", wants({ requestState: { a: 1 } })],
    ["a state over the limit in bytes", wants({ requestState: "€".repeat(MAX_STATE_BYTES / 2) })],
    ["a list of requests", wants({ inputRequests: [{ method: "roots/list" }] })],
    ["a request that is none", wants({ inputRequests: { one: "roots/list" } })],
    ["parameters that are none", wants({ inputRequests: { one: { method: "roots/list", params: "x" } } })],
    ["a request that servers may not make", asks("tools/call")],
    ["a request named like an object's internals", asks("constructor")],
    ["a completion of nothing", asks("sampling/createMessage")],
  ])("%s ends the call", async (_what, first) => {
    const onSampling = () =>
      ({ role: "assistant", model: "m", content: { type: "text", text: "" } }) as const;
    const running = flow({ desk: desk({ onSampling }) });
    await expect(answerRounds(first, running)).rejects.toMatchObject({ code: "PROTOCOL", server: "shop" });
    expect(running.sent).toEqual([]);
  });
});

test("a later round that could not be sent does not mean that nothing was", async () => {
  const unsent = new ConnectionError({ code: "CLOSED", server: "shop", what: "Gone", outcome: "unsent" });
  const running = flow({ desk: desk({ roots: [] }), send: () => Promise.reject(unsent) });
  const error = await answerRounds(asks("roots/list"), running).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(ConnectionError);
  expect(error).toMatchObject({ code: "CLOSED", outcome: "unknown", message: unsent.message });
  expect(unsent.outcome).toBe("unsent");
});

test("every round gets what is left of the time", async () => {
  const limits: number[] = [];
  const answers = [wants({ requestState: "2" }), COMPLETE];
  const running = flow({
    send: async (_params, { maxTimeoutMs }) => {
      limits.push(maxTimeoutMs);
      return answers.shift();
    },
  });
  await answerRounds(wants({ requestState: "1" }), running);
  expect(limits[0]).toBeLessThan(800);
  expect(limits[1]).toBeLessThan(550);
  await expect(
    answerRounds(wants({ requestState: "1" }), flow({ options: { timeoutMs: 1, maxTimeoutMs: 50 } })),
  ).rejects.toMatchObject({ code: "TIMEOUT", phase: "input" });
});

test("the first request that fails takes the others of its round with it", async () => {
  let signal: AbortSignal | undefined;
  const running = flow({
    desk: desk({
      onElicitation: (_request, origin) => {
        signal = origin.signal;
        return new Promise(() => {});
      },
      roots: () => Promise.reject(new Error("no disk")),
    }),
  });
  const form = { message: "Who?", requestedSchema: { type: "object", properties: {} } };
  const first = wants({
    inputRequests: { form: { method: "elicitation/create", params: form }, roots: { method: "roots/list" } },
  });
  await expect(answerRounds(first, running)).rejects.toMatchObject({ code: "REFUSED" });
  expect(signal?.aborted).toBe(true);
});
