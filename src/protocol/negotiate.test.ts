/** Which era a server speaks, found out over one connection, however it answers. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { describe, expect, test } from "vitest";
import { createLinkedTransports } from "../transports/memory/linked-transports.js";
import { type NegotiationOptions, negotiate } from "./negotiate.js";
import { Lane } from "./request-channel.js";

interface Request {
  id: string;
  method: string;
  params: Record<string, unknown>;
}
type Answer = { result: unknown } | { error: { code: number; message: string; data?: unknown } };
/** What a server says to a request; nothing: it is silent. */
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
  const lane = new Lane(client, "it");
  await lane.start();
  try {
    const verdict = await negotiate(lane, {
      server: "it",
      identity,
      timeoutMs: 400,
      silenceMs: 30,
      ...options,
    }).catch((error: unknown) => ({ error }));
    // Whatever lost the race is given up, so nothing is left to wait for.
    await lane.drain();
    return { verdict, methods };
  } finally {
    await lane.close();
  }
}

const later =
  (ms: number, answer: Answer): Serve =>
  () =>
    new Promise((resolve) => setTimeout(resolve, ms, answer));

describe("a server that answers", () => {
  test("server/discover is modern", async () => {
    const { verdict, methods } = await ask({ "server/discover": () => modern });
    expect(verdict).toEqual({ era: "modern", discover: modern.result });
    expect(methods).toEqual(["server/discover"]);
  });

  test("server/discover with an error is legacy, surely", async () => {
    const { verdict, methods } = await ask({ "server/discover": () => refused, initialize: () => legacy });
    expect(verdict).toEqual({ era: "legacy", initializeResult: legacy.result, sure: true });
    expect(methods).toEqual(["server/discover", "initialize"]);
  });

  test.each([{}, null, { supportedVersions: [] }, { supportedVersions: ["2099-01-01"] }, "yes", []])(
    "server/discover with %j is asked to initialize",
    async (result) => {
      const { verdict } = await ask({ "server/discover": () => ({ result }), initialize: () => legacy });
      expect(verdict).toMatchObject({ era: "legacy", sure: true });
    },
  );

  test("that it supports a revision we know is asked again, once", async () => {
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

  test("initialize is offered the revision asked for", async () => {
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
  test("at the probe but initializes is legacy, not surely", async () => {
    const { verdict, methods } = await ask({ initialize: () => legacy });
    expect(verdict).toEqual({ era: "legacy", initializeResult: legacy.result, sure: false });
    // A handshake may not be cancelled: nothing else was said.
    expect(methods).toEqual(["server/discover", "initialize"]);
  });

  test("for a while and then is modern is not taken for legacy", async () => {
    const { verdict } = await ask({ "server/discover": later(60, modern), initialize: () => refused });
    expect(verdict).toMatchObject({ era: "modern" });
  });

  test("for a while and then refuses the probe is legacy, surely", async () => {
    const { verdict } = await ask({ "server/discover": later(50, refused), initialize: later(80, legacy) });
    expect(verdict).toMatchObject({ era: "legacy", sure: true });
  });

  test("for ever fails in time, and says so", async () => {
    const { verdict } = await ask({}, { timeoutMs: 120 });
    expect(verdict).toMatchObject({ error: { code: "TIMEOUT", server: "it" } });
  });

  test("at the probe and refuses initialize fails with that refusal", async () => {
    const { verdict } = await ask({ initialize: () => refused }, { timeoutMs: 120 });
    expect(verdict).toMatchObject({ error: { code: "PROTOCOL", rpcCode: -32601 } });
  });
});

test("a caller's abort ends it with the caller's reason", async () => {
  const abort = new AbortController();
  const asked = ask({}, { signal: abort.signal, timeoutMs: 60_000 });
  setTimeout(() => abort.abort("enough"), 10);
  expect(await asked).toMatchObject({ verdict: { error: "enough" } });
});

test("a connection that ends is not waited for", async () => {
  const [client, server] = createLinkedTransports();
  server.onmessage = () => void server.close();
  await server.start();
  const lane = new Lane(client, "it");
  await lane.start();
  await expect(negotiate(lane, { server: "it", identity, timeoutMs: 60_000 })).rejects.toMatchObject({
    code: "CLOSED",
  });
});
