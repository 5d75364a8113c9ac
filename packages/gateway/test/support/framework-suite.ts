/** What a gateway must do behind every framework: calls, progress, and reports of changes, for clients of both eras. */
import { EventEmitter, once } from "node:events";
import type { RequestListener } from "node:http";
import type { Gateway } from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { describe, expect, it } from "vitest";
import { waitFor } from "../../../../test/support/wait-for.js";
import { openGateway } from "../gateway-scene.js";

/** The application of a framework with a route to the gateway. */
export type Routes = (gateway: Gateway) => RequestListener;

const more = { more: { handler: () => "more" } };

export function describeFramework(name: string, routes: Routes): void {
  describe(name, () => {
    it.each(["modern", "legacy"] as const)("serves a %s client", async (era) => {
      const news = new EventEmitter();
      const arrived = once(news, "half");
      await using upstream = createTestServer({
        tools: {
          steps: {
            handler: async (_args, { progress }) => {
              await progress(1, 2, "half");
              // The result waits, so the progress can only arrive on a stream.
              await arrived;
              return "done";
            },
          },
        },
      });
      const options = { mcpServers: { one: upstream.memory() } };
      await using scene = await openGateway(options, { auth: false }, routes);
      const client = await scene.client(era);
      let reports = 0;
      client.setNotificationHandler("notifications/tools/list_changed", () => {
        reports += 1;
      });
      if (era === "modern") await client.listen({ toolsListChanged: true });
      expect((await client.listTools()).tools.map((tool) => tool.name)).toEqual(["one__steps"]);

      const onprogress = ({ message }: { message?: string | undefined }) => {
        if (message !== undefined) news.emit(message);
      };
      const result = await client.callTool({ name: "one__steps", arguments: {} }, { onprogress });
      expect(result.content).toEqual([{ type: "text", text: "done" }]);

      // Legacy clients open their stream for reports after they have connected.
      const isReported = async () => {
        await upstream.update({ tools: more });
        return reports > 0;
      };
      await waitFor(isReported, { label: "the report of a change" });
      expect((await client.listTools()).tools.map((tool) => tool.name)).toEqual(["one__more"]);
    });
  });
}

/** Sends a ping to the gateway. */
export async function ping(
  routes: Routes,
  path = "/mcp",
): Promise<{ readonly status: number; readonly body: string }> {
  await using upstream = createTestServer({ tools: {} });
  const options = { mcpServers: { one: upstream.memory() } };
  await using scene = await openGateway(options, { auth: false }, routes);
  const response = await fetch(new URL(path, scene.url), {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
    signal: AbortSignal.timeout(10_000),
  });
  return { status: response.status, body: await response.text() };
}

export const PONG = { status: 200, body: expect.stringContaining('"result":{}') };
