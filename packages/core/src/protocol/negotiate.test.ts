/** Negotiation of the era over one connection, for servers that respond, reject or stay silent. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { describe, expect, test } from "vitest";
import { createLinkedTransports } from "../transports/memory/linked-transports.js";
import { type NegotiationOptions, negotiate } from "./handshake.js";
import { RequestChannel } from "./request-channel.js";

interface Request {
  id: string;
  method: string;
  params: Record<string, unknown>;
}
type Answer = { result: unknown } | { error: { code: number; message: string; data?: unknown } };
/** The response of a server to a request; undefined: no response. */
type Serve = (request: Request, count: number) => Answer | undefined | Promise<Answer | undefined>;

const modern = { result: { supportedVersions: ["2026-07-28"], capabilities: {} } };
const legacy = { result: { protocolVersion: "2025-11-25", capabilities: {} } };
const refused = { error: { code: -32601, message: "Method not found" } };
const identity = { clientInfo: { name: "test", version: "1" }, capabilities: {} };

async function ask(serve: Record<string, Serve>, options: Partial<NegotiationOptions> = {}) {
  const [client, server] = createLinkedTransports();
  const methods: string[] = [];
  server.onmessage = async (message) => {
    const request = message as unknown as Request;
    methods.push(request.method);
    const count = methods.filter((method) => method === request.method).length;
    const answer = await serve[request.method]?.(request, count);
    if (answer) await server.send({ jsonrpc: "2.0", id: request.id, ...answer } as JSONRPCMessage);
  };
  await server.start();
  const channel = new RequestChannel(client, "it");
  await channel.start();
  try {
    const verdict = await negotiate(channel, {
      server: "it",
      identity,
      timeoutMs: 400,
      silenceMs: 30,
      ...options,
    }).catch((error: unknown) => ({ error }));
    // The losing request is aborted, so that no request stays open.
    await channel.drain();
    return { verdict, methods };
  } finally {
    await channel.close();
  }
}

const later =
  (ms: number, answer: Answer): Serve =>
  () =>
    new Promise((resolve) => setTimeout(resolve, ms, answer));

describe("a server that responds", () => {
  test("to server/discover is modern", async () => {
    const { verdict, methods } = await ask({ "server/discover": () => modern });
    expect(verdict).toEqual({ era: "modern", discover: modern.result });
    expect(methods).toEqual(["server/discover"]);
  });

  test("to server/discover with an error is certainly legacy", async () => {
    const { verdict, methods } = await ask({ "server/discover": () => refused, initialize: () => legacy });
    expect(verdict).toEqual({ era: "legacy", initializeResult: legacy.result, isCertain: true });
    expect(methods).toEqual(["server/discover", "initialize"]);
  });

  test.each([{}, null, { supportedVersions: [] }, { supportedVersions: ["2099-01-01"] }, "yes", []])(
    "server/discover with %j is asked to initialize",
    async (result) => {
      const { verdict } = await ask({ "server/discover": () => ({ result }), initialize: () => legacy });
      expect(verdict).toMatchObject({ era: "legacy", isCertain: true });
    },
  );

  test("that it supports a known revision gets one more server/discover", async () => {
    const unsupported = { error: { code: -32022, message: "?", data: { supported: ["2026-07-28"] } } };
    const { verdict, methods } = await ask({
      "server/discover": (_request, count) => (count === 1 ? unsupported : modern),
    });
    expect(verdict).toMatchObject({ era: "modern" });
    expect(methods).toEqual(["server/discover", "server/discover"]);
    const stubborn = await ask({ "server/discover": () => unsupported, initialize: () => legacy });
    expect(stubborn.methods).toEqual(["server/discover", "server/discover", "initialize"]);
    expect(stubborn.verdict).toMatchObject({ era: "legacy" });
  });

  test("to initialize is offered the configured revision", async () => {
    let offered: unknown;
    await ask(
      {
        "server/discover": () => refused,
        initialize: ({ params }) => {
          offered = params["protocolVersion"];
          return legacy;
        },
      },
      { legacyVersion: "2024-11-05" },
    );
    expect(offered).toBe("2024-11-05");
  });
});

describe("a server that is silent", () => {
  test("on server/discover but accepts initialize is legacy, but not certainly", async () => {
    const { verdict, methods } = await ask({ initialize: () => legacy });
    expect(verdict).toEqual({ era: "legacy", initializeResult: legacy.result, isCertain: false });
    // A handshake must not be cancelled: no other message was sent.
    expect(methods).toEqual(["server/discover", "initialize"]);
  });

  test("for a while and then responds to server/discover is modern", async () => {
    const { verdict } = await ask({ "server/discover": later(60, modern), initialize: () => refused });
    expect(verdict).toMatchObject({ era: "modern" });
  });

  test("for a while and then rejects server/discover is certainly legacy", async () => {
    const { verdict } = await ask({ "server/discover": later(50, refused), initialize: later(80, legacy) });
    expect(verdict).toMatchObject({ era: "legacy", isCertain: true });
  });

  test("forever fails with a timeout", async () => {
    const { verdict } = await ask({}, { timeoutMs: 120 });
    expect(verdict).toMatchObject({ error: { code: "TIMEOUT", server: "it" } });
  });

  test("on server/discover and rejects initialize fails with the error of initialize", async () => {
    const { verdict } = await ask({ initialize: () => refused }, { timeoutMs: 120 });
    expect(verdict).toMatchObject({ error: { code: "PROTOCOL", rpcCode: -32601 } });
  });
});

test("an abort rejects with its reason", async () => {
  const abort = new AbortController();
  const asked = ask({}, { signal: abort.signal, timeoutMs: 60_000 });
  setTimeout(() => abort.abort("enough"), 10);
  expect(await asked).toMatchObject({ verdict: { error: "enough" } });
});

test("a closed connection rejects at once", async () => {
  const [client, server] = createLinkedTransports();
  server.onmessage = () => void server.close();
  await server.start();
  const channel = new RequestChannel(client, "it");
  await channel.start();
  await expect(negotiate(channel, { server: "it", identity, timeoutMs: 60_000 })).rejects.toMatchObject({
    code: "CLOSED",
  });
});
