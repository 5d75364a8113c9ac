/** An attempt to connect that is aborted while its subscription is requested. */
import { Client } from "@modelcontextprotocol/client";
import { createLinkedTransports, createToolport } from "toolport";
import { expect, onTestFinished, test, vi } from "vitest";
import { pause } from "../../packages/base/src/util/timers.js";

test("the subscription is not tried again", async () => {
  // Without pauses between attempts.
  const random = vi.spyOn(Math, "random").mockReturnValue(0);
  const listen = vi.spyOn(Client.prototype, "listen");
  onTestFinished(() => {
    random.mockRestore();
    listen.mockRestore();
  });
  const controller = new AbortController();
  const transport = async () => {
    const [client, server] = createLinkedTransports();
    server.onmessage = async (message) => {
      const { id, method } = message as { id?: unknown; method?: string };
      if (method === "subscriptions/listen") controller.abort(new Error("Enough"));
      if (method !== "server/discover") return;
      const capabilities = { tools: { listChanged: true } };
      const result = { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities };
      const serverInfo = { name: "s", version: "1" };
      const _meta = { "io.modelcontextprotocol/serverInfo": serverInfo };
      await server.send({
        jsonrpc: "2.0",
        id,
        result: { ...result, ttlMs: 0, cacheScope: "private", _meta },
      } as never);
    };
    await server.start();
    return client;
  };
  await using toolport = createToolport({ mcpServers: { s: { transport } } });
  await expect(toolport.connect({ signal: controller.signal })).rejects.toThrow("Enough");
  await pause(200);
  expect(listen).toHaveBeenCalledTimes(1);
});
