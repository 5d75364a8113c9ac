import { ConnectionError } from "@toolport/base";
import { describe, expect, test } from "vitest";
import { createLinkedTransports } from "../transports/memory/linked-transports.js";
import { type InputRoundsParts, MAX_STATE_BYTES, needsInput, runInputRounds } from "./input-rounds.js";
import { RequestChannel } from "./request-channel.js";
import type { RequestResponder } from "./server-requests/request-responder.js";
import type { ServerRequestOptions } from "./server-requests/server-request-options.js";
import { createServerRequests } from "./server-requests/server-requests.js";

const COMPLETE = { resultType: "complete", content: [] };

/** A responder without an SDK client: requests inside results do not need one. */
const responder = (options: ServerRequestOptions = {}): RequestResponder =>
  createServerRequests({ ...options, report() {} }).attach(
    new RequestChannel(createLinkedTransports()[0], "shop"),
    "shop",
  ).responder;

function flow(
  changes: Partial<InputRoundsParts> = {},
): InputRoundsParts & { sent: Record<string, unknown>[] } {
  const sent: Record<string, unknown>[] = [];
  return {
    server: "shop",
    method: "tools/call",
    params: { name: "buy" },
    options: { timeoutMs: 1_000, maxTimeoutMs: 1_000 },
    startedAt: performance.now(),
    responder: responder(),
    closed: new AbortController().signal,
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

test("only three methods may require input", () => {
  const result = wants({});
  for (const method of ["tools/call", "prompts/get", "resources/read"])
    expect(needsInput(method, result)).toBe(true);
  for (const method of ["tools/list", "completion/complete"]) expect(needsInput(method, result)).toBe(false);
  for (const other of [COMPLETE, {}, null, undefined, "input_required"])
    expect(needsInput("tools/call", other)).toBe(false);
});

test("the next round carries the input and the original parameters", async () => {
  const running = flow({
    method: "resources/read",
    params: { uri: "shop://x", _meta: { a: 1 } },
    responder: responder({ roots: ({ tool }) => [{ uri: `file:///${tool}` }] }),
  });
  const first = wants({ inputRequests: { where: { method: "roots/list" } }, requestState: "" });
  expect(await runInputRounds(first, running)).toBe(COMPLETE);
  expect(running.sent).toEqual([
    {
      uri: "shop://x",
      _meta: { a: 1 },
      inputResponses: { where: { roots: [{ uri: "file:///undefined" }] } },
      requestState: "",
    },
  ]);
});

describe("input that no callback serves", () => {
  const form = { message: "Who?", requestedSchema: { type: "object", properties: {} } };
  const sampling = { messages: [], maxTokens: 1 };
  const onSampling = () => ({ role: "assistant", model: "m", content: { type: "text", text: "" } }) as const;

  test.each([
    ["a form", asks("elicitation/create", form), {}, "fills in a form", "`onElicitation`"],
    [
      "a web page",
      asks("elicitation/create", { mode: "url", message: "Pay", url: "https://pay.example" }),
      { onElicitation: () => ({ action: "decline" }) as const },
      "opens a web page",
      "`onElicitation: { url }`",
    ],
    ["a completion", asks("sampling/createMessage", sampling), {}, "a model completion", "`onSampling`"],
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
    const running = flow({ responder: responder(options as ServerRequestOptions) });
    await expect(runInputRounds(first, running)).rejects.toMatchObject({
      code: "PROTOCOL",
      server: "shop",
      tool: "buy",
      what: expect.stringContaining(wanted),
      next: expect.stringContaining(option),
    });
    expect(running.sent).toEqual([]);
  });
});

describe("invalid input requests", () => {
  test.each([
    ["no request and no state", wants({})],
    ["empty requests", wants({ inputRequests: {} })],
    ["a state that is not a string", wants({ requestState: { a: 1 } })],
    ["a state over the byte limit", wants({ requestState: "€".repeat(MAX_STATE_BYTES / 2) })],
    ["a list of requests", wants({ inputRequests: [{ method: "roots/list" }] })],
    ["a request that is not an object", wants({ inputRequests: { one: "roots/list" } })],
    [
      "parameters that are not an object",
      wants({ inputRequests: { one: { method: "roots/list", params: "x" } } }),
    ],
    ["a request that servers must not send", asks("tools/call")],
    ["a request named like a member of Object.prototype", asks("constructor")],
    ["a completion without messages", asks("sampling/createMessage")],
  ])("%s: the call fails", async (_what, first) => {
    const onSampling = () =>
      ({ role: "assistant", model: "m", content: { type: "text", text: "" } }) as const;
    const running = flow({ responder: responder({ onSampling }) });
    await expect(runInputRounds(first, running)).rejects.toMatchObject({ code: "PROTOCOL", server: "shop" });
    expect(running.sent).toEqual([]);
  });
});

test("a later round that could not be sent has an unknown outcome", async () => {
  const unsent = new ConnectionError({ code: "CLOSED", server: "shop", what: "Gone", outcome: "unsent" });
  const running = flow({ responder: responder({ roots: [] }), send: () => Promise.reject(unsent) });
  const error = await runInputRounds(asks("roots/list"), running).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(ConnectionError);
  expect(error).toMatchObject({ code: "CLOSED", outcome: "unknown", message: unsent.message });
  expect(unsent.outcome).toBe("unsent");
});

test("every round gets the remaining time", async () => {
  const limits: number[] = [];
  const answers = [wants({ requestState: "2" }), COMPLETE];
  const running = flow({
    send: async (_params, { maxTimeoutMs }) => {
      limits.push(maxTimeoutMs);
      return answers.shift();
    },
  });
  await runInputRounds(wants({ requestState: "1" }), running);
  expect(limits[0]).toBeLessThan(800);
  expect(limits[1]).toBeLessThan(550);
  await expect(
    runInputRounds(wants({ requestState: "1" }), flow({ options: { timeoutMs: 1, maxTimeoutMs: 50 } })),
  ).rejects.toMatchObject({ code: "TIMEOUT", phase: "input" });
});

test("the first failed request aborts the others of its round", async () => {
  let signal: AbortSignal | undefined;
  const running = flow({
    responder: responder({
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
  await expect(runInputRounds(first, running)).rejects.toMatchObject({ code: "REFUSED" });
  expect(signal?.aborted).toBe(true);
});
