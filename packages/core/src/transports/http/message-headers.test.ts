import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { SecretRecord } from "../../config/known-secrets.js";
import { MessageHeaders } from "./endpoint.js";

const request = (method: string, params: Record<string, unknown> = {}): JSONRPCMessage => ({
  jsonrpc: "2.0",
  id: 1,
  method,
  params,
});
const modern = (params: Record<string, unknown>) => ({
  ...params,
  _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" },
});
const fieldsWith = (headers: Record<string, string> = {}) => new MessageHeaders(new SecretRecord(headers));

describe("MessageHeaders", () => {
  it("sends session id and version as soon as they are known, but not with initialize", () => {
    const fields = fieldsWith({ "X-Key": "k", Accept: "*/*" });
    expect(fields.forMessage(request("ping"))).toEqual({
      accept: "application/json, text/event-stream",
      "accept-encoding": "identity",
      "content-type": "application/json",
      "x-key": "k",
    });
    fields.sessionId = "s";
    fields.protocolVersion = "2025-11-25";
    expect(fields.forMessage(request("ping"))).toMatchObject({
      "mcp-session-id": "s",
      "mcp-protocol-version": "2025-11-25",
    });
    expect(fields.forMessage(request("initialize"))).not.toHaveProperty("mcp-session-id");
    expect(fields.forStream("e-1")).toMatchObject({ accept: "text/event-stream", "last-event-id": "e-1" });
  });

  it.each([
    ["tools/call", { name: "echo" }, "echo"],
    ["prompts/get", { name: "grüße" }, "=?base64?Z3LDvMOfZQ==?="],
    ["resources/read", { uri: "a:b\r\nx-evil: 1" }, "=?base64?YTpiDQp4LWV2aWw6IDE=?="],
    ["tasks/get", { taskId: "t" }, "t"],
    ["tools/list", { name: "no" }, undefined],
    ["constructor", {}, undefined],
  ])("repeats method and name of %s in stateless revisions only", (method, params, name) => {
    const fields = fieldsWith();
    const sent = fields.forMessage(request(method, modern(params)));
    expect(sent).toMatchObject({ "mcp-protocol-version": "2026-07-28", "mcp-method": method });
    expect(sent["mcp-name"]).toBe(name);
    expect(fields.forMessage(request(method, params))).not.toHaveProperty("mcp-method");
  });

  it("accepts headers for one message, but no transport headers and no credentials", () => {
    const given = { "Mcp-Param-A": "1", "Mcp-Session-Id": "x", Authorization: "Bearer x", DPoP: "x" };
    const sent = fieldsWith({ "x-key": "k" }).forMessage(request("ping"), { ...given, "X-Key": "other" });
    expect(sent).toMatchObject({ "mcp-param-a": "1", "x-key": "other" });
    for (const name of ["mcp-session-id", "authorization", "dpop"]) expect(sent).not.toHaveProperty(name);
    expect(fieldsWith().forMessage(request("ping"))).not.toHaveProperty("mcp-param-a");
  });
});
