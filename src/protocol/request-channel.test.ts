/** The lane over linked transports in memory: whose answer is whose, and what happens to those that never come. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { beforeEach, describe, expect, test } from "vitest";
import { delivered, type LaneMessage, type LaneRig, openLaneRig } from "../../test/support/channel-rig.js";
import { failure } from "../../test/support/failure.js";
import { ConnectionError } from "../errors/connection-error.js";
import { createLinkedTransports } from "../transports/memory/linked-transports.js";
import { Lane, type LaneRequestOptions } from "./request-channel.js";

const limits = (more: Partial<LaneRequestOptions> = {}): LaneRequestOptions => ({
  timeoutMs: 5_000,
  maxTimeoutMs: 5_000,
  ...more,
});

let { inner, server, lane, arrived, passed, reply } = {} as LaneRig;
beforeEach(async () => {
  ({ inner, server, lane, arrived, passed, reply } = await openLaneRig());
});

const tooLarge = () => new ConnectionError({ code: "MESSAGE_TOO_LARGE", what: "It was over the cap" });

describe("requests of ours", () => {
  test("carry ids of their own, and their answers never reach the client", async () => {
    const asked = lane.request("tools/list", { cursor: "a" }, limits());
    await delivered();
    expect(arrived).toEqual([
      { jsonrpc: "2.0", id: "toolport-1", method: "tools/list", params: { cursor: "a" } },
    ]);
    await reply({ id: "toolport-1", result: { tools: [] } });
    expect(await asked).toEqual({ tools: [] });
    expect(passed).toEqual([]);
  });

  test("tell progress after the answer too, where the work goes on", async () => {
    const seen: unknown[] = [];
    const worked = new AbortController();
    const onProgress = ({ progress }: { progress: number }) => void seen.push(progress);
    const asked = lane.request("tools/call", {}, limits({ onProgress, progressUntil: worked.signal }));
    await delivered();
    await reply({ id: "toolport-1", result: { task: {} } });
    await asked;
    await reply({ method: "notifications/progress", params: { progressToken: "toolport-1", progress: 1 } });
    await delivered();
    worked.abort();
    await reply({ method: "notifications/progress", params: { progressToken: "toolport-1", progress: 2 } });
    await delivered();
    expect(seen).toEqual([1]);
    expect(passed).toEqual([]);
  });

  test("that are refused reject with the code of the refusal", async () => {
    const asked = failure(lane.request("tools/call", {}, limits()));
    await delivered();
    await reply({ id: "toolport-1", error: { code: -32602, message: "Unknown tool", data: { hint: 1 } } });
    expect(await asked).toMatchObject({ code: "PROTOCOL", server: "it", rpcCode: -32602, data: { hint: 1 } });
  });

  test("carry the envelope, the caller's own _meta and a token where progress is wanted", async () => {
    lane.envelope = { era: "modern", mine: "envelope" };
    const seen: unknown[] = [];
    const onProgress = (progress: unknown) => void seen.push(progress);
    const asked = lane.request("tools/call", { _meta: { mine: "caller", trace: 1 } }, limits({ onProgress }));
    await delivered();
    expect(arrived[0]?.params).toEqual({
      _meta: { era: "modern", mine: "envelope", trace: 1, progressToken: "toolport-1" },
    });
    await reply({
      method: "notifications/progress",
      params: { progressToken: "toolport-1", progress: 1, total: 2, message: "half" },
    });
    await reply({ id: "toolport-1", result: {} });
    await asked;
    expect(seen).toEqual([{ progress: 1, total: 2, message: "half" }]);
    expect(passed).toEqual([]);
  });

  test("that are aborted before they are made are not sent", async () => {
    const reason = new Error("mine");
    expect(await failure(lane.request("ping", {}, limits({ signal: AbortSignal.abort(reason) })))).toBe(
      reason,
    );
    await delivered();
    expect(arrived).toEqual([]);
  });

  test("with no time left are cancelled, and their late answer is nobody's", async () => {
    const error = await failure(lane.request("ping", {}, limits({ timeoutMs: 0 })));
    expect(error).toMatchObject({ code: "TIMEOUT" });
    await delivered();
    expect(arrived.map(({ method }) => method)).toEqual(["ping", "notifications/cancelled"]);
    await reply({ id: "toolport-1", result: {} });
    // Nothing is left in the books, so the lane can be retired.
    await lane.drain();
    expect(passed).toEqual([]);
  });

  test("that cannot be sent reject with the transport's error", async () => {
    inner.send = () => Promise.reject(new ConnectionError({ code: "UNREACHABLE", what: "No way" }));
    expect(await failure(lane.request("ping", {}, limits()))).toMatchObject({
      code: "UNREACHABLE",
      server: "it",
    });
  });
});

describe("a cancelled request", () => {
  test("is told to the server; its late answer and progress are dropped", async () => {
    const abort = new AbortController();
    const onProgress = () => passed.push({ method: "progress of a cancelled request" });
    const asked = failure(lane.request("tools/call", {}, limits({ signal: abort.signal, onProgress })));
    await delivered();
    abort.abort("enough");
    expect(await asked).toBe("enough");
    await delivered();
    expect(arrived.at(-1)).toMatchObject({
      method: "notifications/cancelled",
      params: { requestId: "toolport-1", reason: expect.any(String) },
    });
    await reply({ method: "notifications/progress", params: { progressToken: "toolport-1", progress: 1 } });
    await reply({ id: "toolport-1", result: {} });
    await delivered();
    expect(passed).toEqual([]);
  });

  test("of the modern era over pipes carries the envelope", async () => {
    lane.envelope = { version: "modern" };
    const abort = new AbortController();
    const asked = failure(lane.request("tools/call", {}, limits({ signal: abort.signal })));
    abort.abort();
    await asked;
    await delivered();
    expect(arrived.at(-1)?.params).toMatchObject({ requestId: "toolport-1", _meta: { version: "modern" } });
  });

  test("that is quiet says nothing: a handshake may not be cancelled", async () => {
    await failure(lane.request("initialize", {}, limits({ timeoutMs: 5, quiet: true })));
    await delivered();
    expect(arrived.map(({ method }) => method)).toEqual(["initialize"]);
  });

  test("with a stream of its own in the modern era is told by closing that stream", async () => {
    const [client, other] = createLinkedTransports();
    const signals: (AbortSignal | undefined)[] = [];
    const send = client.send.bind(client);
    const streaming = Object.assign(client, {
      hasPerRequestStream: true,
      send: (message: JSONRPCMessage, options?: { requestSignal?: AbortSignal }) => {
        signals.push(options?.requestSignal);
        return send(message);
      },
    });
    const modern = new Lane(streaming, "it");
    modern.envelope = {};
    await other.start();
    await modern.start();
    const abort = new AbortController();
    const asked = failure(modern.request("tools/call", {}, limits({ signal: abort.signal })));
    abort.abort("enough");
    await asked;
    expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
    await modern.close();
  });
});

describe("an answer that was thrown away", () => {
  test("fails the request it belongs to and no other", async () => {
    const lost = failure(lane.request("tools/call", {}, limits()));
    const fine = lane.request("tools/call", {}, limits());
    await delivered();
    inner.ondiscard?.({ id: "toolport-1", error: tooLarge() });
    expect(await lost).toMatchObject({ code: "MESSAGE_TOO_LARGE", server: "it" });
    await reply({ id: "toolport-2", result: { ok: true } });
    expect(await fine).toEqual({ ok: true });
  });

  test("of a request of the client's becomes an answer it understands", async () => {
    await lane.clientSide.send({ jsonrpc: "2.0", id: 3, method: "resources/read" });
    inner.ondiscard?.({ id: 3, error: tooLarge() });
    expect(passed).toMatchObject([
      { id: 3, error: { code: -32000, data: { toolport: "MESSAGE_TOO_LARGE" } } },
    ]);
    inner.ondiscard?.({ id: 3, error: tooLarge() });
    expect(passed).toHaveLength(1);
  });

  test("and cannot be told apart fails all that wait, ours and the client's", async () => {
    const ours = [1, 2].map(() => failure(lane.request("tools/call", {}, limits())));
    await lane.clientSide.send({ jsonrpc: "2.0", id: 3, method: "resources/read" });
    inner.ondiscard?.({ error: tooLarge() });
    for (const error of await Promise.all(ours)) expect(error).toMatchObject({ code: "MESSAGE_TOO_LARGE" });
    expect(passed).toMatchObject([{ id: 3, error: { data: { toolport: "MESSAGE_TOO_LARGE" } } }]);
  });

  test("because its stream was cut fails that request", async () => {
    const asked = failure(lane.request("tools/call", {}, limits()));
    inner.onstreamcut?.("toolport-1", new ConnectionError({ code: "STREAM_CUT", what: "It was cut" }));
    expect(await asked).toMatchObject({ code: "STREAM_CUT", server: "it" });
  });

  test("of nobody's is nobody's business", () => {
    inner.ondiscard?.({ id: "toolport-99", error: tooLarge() });
    inner.ondiscard?.({ id: 99, error: tooLarge() });
    inner.ondiscard?.({ error: tooLarge() });
    expect(passed).toEqual([]);
  });
});

describe("the end", () => {
  test("drain() takes no new requests and waits for those under way", async () => {
    const asked = lane.request("tools/call", {}, limits());
    let drained = false;
    const draining = lane.drain().then(() => {
      drained = true;
    });
    expect(await failure(lane.request("ping", {}, limits()))).toMatchObject({
      code: "CLOSED",
      outcome: "unsent",
    });
    await delivered();
    expect(drained).toBe(false);
    await reply({ id: "toolport-1", result: {} });
    await asked;
    await draining;
    expect(arrived).toHaveLength(1);
  });

  test("drain() of an idle lane is over at once", () => expect(lane.drain()).resolves.toBeUndefined());

  test("by the server fails what waits with an unknown outcome, and says why", async () => {
    const asked = failure(lane.request("tools/call", {}, limits()));
    await delivered();
    let closed = 0;
    lane.clientSide.onclose = () => {
      closed += 1;
    };
    await server.close();
    expect(await asked).toMatchObject({ code: "CLOSED", outcome: "unknown" });
    expect(await lane.closed).toMatchObject({ code: "CLOSED" });
    expect(closed).toBe(1);
    expect(await failure(lane.request("ping", {}, limits()))).toMatchObject({ outcome: "unsent" });
  });

  test("by the caller has no reason", async () => {
    await lane.close();
    expect(await lane.closed).toBeUndefined();
  });

  test("by a lost session carries that reason", async () => {
    const asked = failure(lane.request("tools/call", {}, limits()));
    inner.onsessionlost?.(new ConnectionError({ code: "SESSION_LOST", what: "Who are you" }));
    expect(await asked).toMatchObject({ code: "SESSION_LOST" });
    expect(await lane.closed).toMatchObject({ code: "SESSION_LOST" });
  });
});

test("a tap sees every message, both ways", async () => {
  const seen: string[] = [];
  lane.tap = (direction, message) => seen.push(`${direction} ${(message as LaneMessage).method ?? "answer"}`);
  const asked = lane.request("ping", {}, limits());
  await delivered();
  await reply({ id: "toolport-1", result: {} });
  await asked;
  await lane.clientSide.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  expect(seen).toEqual(["sent ping", "received answer", "sent notifications/initialized"]);
});

test("starting twice starts the transport once", async () => {
  await expect(lane.start()).resolves.toBeUndefined();
});

describe("over a wire of text", () => {
  const deferred = () => {
    let reject!: (error: Error) => void;
    const promise = new Promise<void>((_, no) => {
      reject = no;
    });
    return { promise, reject };
  };
  const rig = () => {
    const [transport] = createLinkedTransports();
    const written: string[] = [];
    const batch = deferred();
    transport.sendText = (text) => {
      written.push(text);
      return batch.promise;
    };
    return { lane: new Lane(transport, "it"), transport, written, batch };
  };

  test("requests are written out, and a batch that fails takes all of its requests along and no other", async () => {
    const { lane, written, batch, transport } = rig();
    const [first, second] = [1, 2].map((n) =>
      failure(lane.request("tools/call", { name: "a", n }, limits())),
    );
    expect(written.map((text) => JSON.parse(text))).toMatchObject([
      { params: { n: 1 } },
      { params: { n: 2 } },
    ]);
    batch.reject(new ConnectionError({ code: "CLOSED", what: "It is gone", outcome: "unsent" }));
    for (const failed of [first, second])
      expect(await failed).toMatchObject({ code: "CLOSED", server: "it" });
    transport.sendText = async () => {};
    const third = lane.request("tools/call", {}, limits());
    transport.onmessage?.({ jsonrpc: "2.0", id: "toolport-3", result: { ok: true } });
    expect(await third).toEqual({ ok: true });
  });

  test("arguments that are no JSON fail their own request only", async () => {
    const { lane, transport, written } = rig();
    const good = lane.request("tools/call", { name: "a" }, limits());
    const bad = failure(lane.request("tools/call", { arguments: { count: 1n } }, limits()));
    expect(await bad).toMatchObject({ server: "it" });
    expect(written).toHaveLength(1);
    transport.onmessage?.({ jsonrpc: "2.0", id: "toolport-1", result: {} });
    expect(await good).toEqual({});
  });

  test("a tap gets to see the message itself", async () => {
    const { lane, written, transport } = rig();
    const seen: unknown[] = [];
    lane.tap = (direction, message) => void seen.push([direction, message]);
    transport.send = async () => {};
    const asked = lane.request("tools/list", {}, limits());
    transport.onmessage?.({ jsonrpc: "2.0", id: "toolport-1", result: {} });
    await asked;
    expect(seen).toMatchObject([
      ["sent", { method: "tools/list" }],
      ["received", {}],
    ]);
    expect(written).toEqual([]);
  });
});
