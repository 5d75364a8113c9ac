/** The channel over linked in-memory transports: matching of responses, cancellation, and lost responses. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { ConnectionError } from "@toolport/base";
import { beforeEach, describe, expect, test } from "vitest";
import {
  type ChannelMessage,
  type ChannelRig,
  delivered,
  openChannelRig,
} from "../../../../test/support/channel-rig.js";
import { failure } from "../../../../test/support/failure.js";
import { createLinkedTransports } from "../transports/memory/linked-transports.js";
import { type ChannelRequestOptions, RequestChannel } from "./request-channel.js";

const limits = (more: Partial<ChannelRequestOptions> = {}): ChannelRequestOptions => ({
  timeoutMs: 5_000,
  maxTimeoutMs: 5_000,
  ...more,
});

let { inner, server, channel, arrived, passed, reply } = {} as ChannelRig;
beforeEach(async () => {
  ({ inner, server, channel, arrived, passed, reply } = await openChannelRig());
});

const tooLarge = () => new ConnectionError({ code: "MESSAGE_TOO_LARGE", what: "It was over the cap" });

describe("own requests", () => {
  test("carry their own ids, and their responses never reach the SDK client", async () => {
    const asked = channel.request("tools/list", { cursor: "a" }, limits());
    await delivered();
    expect(arrived).toEqual([
      { jsonrpc: "2.0", id: "toolport-1", method: "tools/list", params: { cursor: "a" } },
    ]);
    await reply({ id: "toolport-1", result: { tools: [] } });
    expect(await asked).toEqual({ tools: [] });
    expect(passed).toEqual([]);
  });

  test("report progress after the response until progressUntil aborts", async () => {
    const seen: unknown[] = [];
    const worked = new AbortController();
    const onProgress = ({ progress }: { progress: number }) => void seen.push(progress);
    const asked = channel.request("tools/call", {}, limits({ onProgress, progressUntil: worked.signal }));
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

  test("reject with the code of an error response", async () => {
    const asked = failure(channel.request("tools/call", {}, limits()));
    await delivered();
    await reply({ id: "toolport-1", error: { code: -32602, message: "Unknown tool", data: { hint: 1 } } });
    expect(await asked).toMatchObject({ code: "PROTOCOL", server: "it", rpcCode: -32602, data: { hint: 1 } });
  });

  test("carry the envelope, the caller's own _meta, and a token if progress is requested", async () => {
    channel.envelope = { era: "modern", mine: "envelope" };
    const seen: unknown[] = [];
    const onProgress = (progress: unknown) => void seen.push(progress);
    const asked = channel.request(
      "tools/call",
      { _meta: { mine: "caller", trace: 1 } },
      limits({ onProgress }),
    );
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

  test("are not sent if their signal is already aborted", async () => {
    const reason = new Error("mine");
    expect(await failure(channel.request("ping", {}, limits({ signal: AbortSignal.abort(reason) })))).toBe(
      reason,
    );
    await delivered();
    expect(arrived).toEqual([]);
  });

  test("with a timeout of 0 are cancelled, and their late response is ignored", async () => {
    const error = await failure(channel.request("ping", {}, limits({ timeoutMs: 0 })));
    expect(error).toMatchObject({ code: "TIMEOUT" });
    await delivered();
    expect(arrived.map(({ method }) => method)).toEqual(["ping", "notifications/cancelled"]);
    await reply({ id: "toolport-1", result: {} });
    // No request is left open, so the channel can be drained.
    await channel.drain();
    expect(passed).toEqual([]);
  });

  test("that cannot be sent reject with the error of the transport", async () => {
    inner.send = () => Promise.reject(new ConnectionError({ code: "UNREACHABLE", what: "No way" }));
    expect(await failure(channel.request("ping", {}, limits()))).toMatchObject({
      code: "UNREACHABLE",
      server: "it",
    });
  });
});

describe("a cancelled request", () => {
  test("sends a notification; its late response and progress are dropped", async () => {
    const abort = new AbortController();
    const onProgress = () => passed.push({ method: "progress of a cancelled request" });
    const asked = failure(channel.request("tools/call", {}, limits({ signal: abort.signal, onProgress })));
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

  test("sends the envelope to a modern server over pipes", async () => {
    channel.envelope = { version: "modern" };
    const abort = new AbortController();
    const asked = failure(channel.request("tools/call", {}, limits({ signal: abort.signal })));
    abort.abort();
    await asked;
    await delivered();
    expect(arrived.at(-1)?.params).toMatchObject({ requestId: "toolport-1", _meta: { version: "modern" } });
  });

  test("that is quiet sends nothing: a handshake must not be cancelled", async () => {
    await failure(channel.request("initialize", {}, limits({ timeoutMs: 5, quiet: true })));
    await delivered();
    expect(arrived.map(({ method }) => method)).toEqual(["initialize"]);
  });

  test("with its own stream to a modern server closes that stream instead", async () => {
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
    const modern = new RequestChannel(streaming, "it");
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

describe("a discarded response", () => {
  test("fails only the request it belongs to", async () => {
    const lost = failure(channel.request("tools/call", {}, limits()));
    const fine = channel.request("tools/call", {}, limits());
    await delivered();
    inner.ondiscard?.({ id: "toolport-1", error: tooLarge() });
    expect(await lost).toMatchObject({ code: "MESSAGE_TOO_LARGE", server: "it" });
    await reply({ id: "toolport-2", result: { ok: true } });
    expect(await fine).toEqual({ ok: true });
  });

  test("to a request of the SDK client becomes an error response", async () => {
    await channel.sdkTransport.send({ jsonrpc: "2.0", id: 3, method: "resources/read" });
    inner.ondiscard?.({ id: 3, error: tooLarge() });
    expect(passed).toMatchObject([
      { id: 3, error: { code: -32000, data: { toolport: "MESSAGE_TOO_LARGE" } } },
    ]);
    inner.ondiscard?.({ id: 3, error: tooLarge() });
    expect(passed).toHaveLength(1);
  });

  test("without a known id fails all open requests of both sides", async () => {
    const ours = [1, 2].map(() => failure(channel.request("tools/call", {}, limits())));
    await channel.sdkTransport.send({ jsonrpc: "2.0", id: 3, method: "resources/read" });
    inner.ondiscard?.({ error: tooLarge() });
    for (const error of await Promise.all(ours)) expect(error).toMatchObject({ code: "MESSAGE_TOO_LARGE" });
    expect(passed).toMatchObject([{ id: 3, error: { data: { toolport: "MESSAGE_TOO_LARGE" } } }]);
  });

  test("because of a cut stream fails that request", async () => {
    const asked = failure(channel.request("tools/call", {}, limits()));
    inner.onstreamcut?.("toolport-1", new ConnectionError({ code: "STREAM_CUT", what: "It was cut" }));
    expect(await asked).toMatchObject({ code: "STREAM_CUT", server: "it" });
  });

  test("to an unknown request is ignored", () => {
    inner.ondiscard?.({ id: "toolport-99", error: tooLarge() });
    inner.ondiscard?.({ id: 99, error: tooLarge() });
    inner.ondiscard?.({ error: tooLarge() });
    expect(passed).toEqual([]);
  });
});

describe("closing", () => {
  test("drain() rejects new requests and waits for the open ones", async () => {
    const asked = channel.request("tools/call", {}, limits());
    let drained = false;
    const draining = channel.drain().then(() => {
      drained = true;
    });
    expect(await failure(channel.request("ping", {}, limits()))).toMatchObject({
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

  test("drain() of an idle channel resolves at once", () => expect(channel.drain()).resolves.toBeUndefined());

  test("by the server fails the open requests with an unknown outcome and the reason", async () => {
    const asked = failure(channel.request("tools/call", {}, limits()));
    await delivered();
    let closed = 0;
    channel.sdkTransport.onclose = () => {
      closed += 1;
    };
    await server.close();
    expect(await asked).toMatchObject({ code: "CLOSED", outcome: "unknown" });
    expect(await channel.closed).toMatchObject({ code: "CLOSED" });
    expect(closed).toBe(1);
    expect(await failure(channel.request("ping", {}, limits()))).toMatchObject({ outcome: "unsent" });
  });

  test("by the caller has no reason", async () => {
    await channel.close();
    expect(await channel.closed).toBeUndefined();
  });

  test("by a lost session has that reason", async () => {
    const asked = failure(channel.request("tools/call", {}, limits()));
    inner.onsessionlost?.(new ConnectionError({ code: "SESSION_LOST", what: "Who are you" }));
    expect(await asked).toMatchObject({ code: "SESSION_LOST" });
    expect(await channel.closed).toMatchObject({ code: "SESSION_LOST" });
  });
});

test("a tap observes every message in both directions", async () => {
  const seen: string[] = [];
  channel.tap = (direction, message) =>
    seen.push(`${direction} ${(message as ChannelMessage).method ?? "answer"}`);
  const asked = channel.request("ping", {}, limits());
  await delivered();
  await reply({ id: "toolport-1", result: {} });
  await asked;
  await channel.sdkTransport.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  expect(seen).toEqual(["sent ping", "received answer", "sent notifications/initialized"]);
});

test("start() starts the transport only once", async () => {
  await expect(channel.start()).resolves.toBeUndefined();
});

describe("a transport that writes several requests together", () => {
  const rig = () => {
    const [transport] = createLinkedTransports();
    const written: string[] = [];
    let fail!: (error: Error) => void;
    const batch = new Promise<void>((_, reject) => {
      fail = reject;
    });
    transport.send = (message) => {
      written.push(JSON.stringify(message));
      return batch;
    };
    return { channel: new RequestChannel(transport, "it"), transport, written, fail };
  };

  test("rejects all of them, and no other, when the write fails", async () => {
    const { channel, written, fail, transport } = rig();
    const [first, second] = [1, 2].map((n) =>
      failure(channel.request("tools/call", { name: "a", n }, limits())),
    );
    expect(written.map((text) => JSON.parse(text))).toMatchObject([
      { params: { n: 1 } },
      { params: { n: 2 } },
    ]);
    fail(new ConnectionError({ code: "CLOSED", what: "It is gone", outcome: "unsent" }));
    for (const failed of [first, second])
      expect(await failed).toMatchObject({ code: "CLOSED", server: "it" });
    transport.send = async () => {};
    const third = channel.request("tools/call", {}, limits());
    transport.onmessage?.({ jsonrpc: "2.0", id: "toolport-3", result: { ok: true } });
    expect(await third).toEqual({ ok: true });
  });

  test("rejects only the request whose arguments cannot be serialized", async () => {
    const { channel, transport, written } = rig();
    const good = channel.request("tools/call", { name: "a" }, limits());
    const bad = failure(channel.request("tools/call", { arguments: { count: 1n } }, limits()));
    expect(await bad).toMatchObject({ server: "it" });
    expect(written).toHaveLength(1);
    transport.onmessage?.({ jsonrpc: "2.0", id: "toolport-1", result: {} });
    expect(await good).toEqual({});
  });
});
