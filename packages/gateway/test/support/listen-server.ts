/** A modern server over HTTP that is written by hand: it reports changes of its tools when the test says so. */
import {
  event,
  openEvents,
  sendJson,
  startScriptedServer,
} from "../../../../test/fixtures/servers/http-scripted.js";

export interface ListenServer {
  /** For `mcpServers`. */
  readonly entry: { url: string };
  /** Resolves when a client listens, with a function that sends it a notification. */
  readonly opened: Promise<(method: string) => void>;
  close(): Promise<void>;
}

/** @param list the result of `tools/list`; `read` counts from 1 */
export async function startListenServer(
  list: (read: number) => object | Promise<object>,
): Promise<ListenServer> {
  let listening = (_send: (method: string) => void) => {};
  const opened = new Promise<(method: string) => void>((resolve) => {
    listening = resolve;
  });
  let reads = 0;
  const server = await startScriptedServer(async ({ message }, response) => {
    const { id, method } = message ?? {};
    const reply = (result: object) =>
      sendJson(response, { jsonrpc: "2.0", id, result: { resultType: "complete", ...result } });
    if (method === "server/discover")
      return reply({ supportedVersions: ["2026-07-28"], capabilities: { tools: { listChanged: true } } });
    if (method === "tools/list") {
      reads += 1;
      return reply(await list(reads));
    }
    if (method !== "subscriptions/listen") return response.writeHead(405).end();
    const _meta = { "io.modelcontextprotocol/subscriptionId": id };
    const send = (name: string, params: object = {}) =>
      response.write(event({ jsonrpc: "2.0", method: name, params: { ...params, _meta } }));
    openEvents(response);
    send("notifications/subscriptions/acknowledged", { notifications: { toolsListChanged: true } });
    return listening((name) => send(name));
  });
  return { entry: { url: `${server.url}/mcp` }, opened, close: () => server.close() };
}
