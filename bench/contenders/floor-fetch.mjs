/** The floor with the built-in `fetch`: shows what `fetch` itself costs. On stdio it equals the floor and shows the noise. */
import { connectWith, parseBody } from "./floor.mjs";

export { load, read } from "./floor.mjs";

function streamable(server) {
  let lastId = 0;
  let session;
  const send = async (message) => {
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(session === undefined ? {} : { "mcp-session-id": session }),
    };
    const response = await fetch(server.url, { method: "POST", headers, body: JSON.stringify(message) });
    session ??= response.headers.get("mcp-session-id") ?? undefined;
    const text = await response.text();
    return response.status === 202 ? undefined : parseBody(text, response.headers.get("content-type"));
  };
  return {
    request: (method, params) => send({ jsonrpc: "2.0", id: ++lastId, method, params }),
    notify: (method) => send({ jsonrpc: "2.0", method }),
    close: () => {},
  };
}

export const connect = (_lib, servers) => connectWith(servers, streamable);
