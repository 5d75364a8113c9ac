/** User-supplied transports behind the ServerTransport interface. */
import { InMemoryTransport, type Transport, UnauthorizedError } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, it } from "vitest";
import type { CustomConfig } from "../../config/server-config.js";
import { createLinkedTransports } from "../memory/linked-transports.js";
import { wrapCustomTransport } from "./custom-transport.js";

const wrap = (createTransport: () => Transport | Promise<Transport>) =>
  wrapCustomTransport({ kind: "custom", name: "mine", createTransport } as CustomConfig);

describe("wrapCustomTransport", () => {
  it("passes on messages, session id and protocol version", async () => {
    const [inner, other] = InMemoryTransport.createLinkedPair();
    const versions: string[] = [];
    Object.assign(inner, {
      sessionId: "s1",
      setProtocolVersion: (version: string) => versions.push(version),
    });
    const transport = await wrap(() => inner);
    expect(transport).toMatchObject({ kind: "custom", sessionId: "s1" });
    expect("pid" in transport || "stderr" in transport).toBe(false);
    const received: unknown[] = [];
    transport.onmessage = (message) => received.push(message);
    await Promise.all([transport.start(), other.start()]);
    transport.setProtocolVersion?.("2025-11-25");
    await other.send({ jsonrpc: "2.0", method: "hello" });
    expect(received).toEqual([{ jsonrpc: "2.0", method: "hello" }]);
    expect(versions).toEqual(["2025-11-25"]);
  });

  it("has pid and stderr only if the original has them", async () => {
    const transport = await wrap(
      () => new StdioClientTransport({ command: process.execPath, stderr: "pipe" }),
    );
    expect("pid" in transport && "stderr" in transport).toBe(true);
    expect(transport.pid).toBeNull();
    expect("setProtocolVersion" in transport && transport.setProtocolVersion !== undefined).toBe(false);
  });

  it("reports an unexpected close once, and keeps the reason of the original", async () => {
    const [plain, plainOther] = InMemoryTransport.createLinkedPair();
    const [ours, oursOther] = createLinkedTransports();
    for (const [inner, other, what] of [
      [plain, plainOther, "The transport closed unexpectedly"],
      [ours, oursOther, "The other side closed the connection"],
    ] as const) {
      const transport = await wrap(() => inner);
      let closes = 0;
      const closed = new Promise<void>((resolve) => {
        transport.onclose = () => {
          closes++;
          resolve();
        };
      });
      await Promise.all([transport.start(), other.start()]);
      await other.close();
      await closed;
      expect(transport.closeError).toMatchObject({ code: "CLOSED", what });
      await transport.close();
      expect(closes).toBe(1);
      await expect(transport.send({ jsonrpc: "2.0", method: "x" })).rejects.toMatchObject({
        code: "CLOSED",
        outcome: "unsent",
      });
    }
  });

  it("calls listeners of the original first, and closes a transport that never calls onclose", async () => {
    const seen: string[] = [];
    const silent: Transport = {
      start: async () => {},
      send: async () => {},
      close: async () => {},
      onmessage: () => seen.push("own"),
    };
    const transport = await wrap(() => silent);
    transport.onmessage = () => seen.push("ours");
    transport.onclose = () => seen.push("close");
    await transport.start();
    silent.onmessage?.({ jsonrpc: "2.0", method: "x" });
    await Promise.all([transport.close(), transport.close()]);
    expect(seen).toEqual(["own", "ours", "close"]);
    expect(transport.closeError).toBeUndefined();
  });

  it("converts what the function and start() throw to typed errors", async () => {
    const broken = () => Promise.reject(new Error("no"));
    await expect(wrap(broken)).rejects.toMatchObject({
      code: "UNREACHABLE",
      server: "mine",
      outcome: "unsent",
    });
    const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
    const failing = (error: Error): Transport => ({
      start: () => Promise.reject(error),
      send: async () => {},
      close: async () => {},
    });
    await expect((await wrap(() => failing(refused))).start()).rejects.toMatchObject({
      errno: "ECONNREFUSED",
    });
    const unauthorized = new UnauthorizedError("token");
    await expect((await wrap(() => failing(unauthorized))).start()).rejects.toMatchObject({
      code: "AUTH_REQUIRED",
    });
  });
});
