/** The floor: the least JSON-RPC that can call a tool. No validation, no timeouts, no cancellation, no errors. */
import { spawn } from "node:child_process";
import http from "node:http";

export const load = async () => ({});
export const command = ["-e", ""];

const HELLO = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "floor", version: "1.0.0" },
};

function stdio(server) {
  const env = { ...process.env, ...server.env };
  const child = spawn(server.command, server.args, { env, stdio: ["pipe", "pipe", "inherit"] });
  const waiting = new Map();
  let parts = [];
  let lastId = 0;
  child.stdout.on("data", (chunk) => {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      parts.push(chunk.subarray(start, end));
      const message = JSON.parse(parts.length === 1 ? parts[0].toString() : Buffer.concat(parts).toString());
      parts = [];
      start = end + 1;
      const done = waiting.get(message.id);
      waiting.delete(message.id);
      done?.(message);
    }
    if (start < chunk.length) parts.push(chunk.subarray(start));
  });
  child.stdin.on("error", () => {});
  return {
    request: (method, params) =>
      new Promise((resolve) => {
        const id = ++lastId;
        waiting.set(id, resolve);
        child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
      }),
    notify: (method) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method })}\n`),
    close: () => child.stdin.end(),
  };
}

/** The message in the body of a response, JSON or SSE. */
export function parseBody(text, contentType) {
  if (!contentType.startsWith("text/event-stream")) return JSON.parse(text);
  const start = text.indexOf("data: ") + 6;
  return JSON.parse(text.slice(start, text.indexOf("\n", start)));
}

function post({ agent, url, body, session }) {
  return new Promise((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "content-length": Buffer.byteLength(body),
      ...(session === undefined ? {} : { "mcp-session-id": session }),
    };
    const { hostname, port, pathname: path } = url;
    const request = http.request({ agent, hostname, port, path, method: "POST", headers }, (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => {
        try {
          const text = Buffer.concat(chunks).toString();
          const type = response.headers["content-type"];
          const message = response.statusCode === 202 ? undefined : parseBody(text, type);
          resolve({ message, session: response.headers["mcp-session-id"] });
        } catch (error) {
          reject(error);
        }
      });
    });
    request.on("error", reject);
    request.end(body);
  });
}

function streamable(server) {
  const agent = new http.Agent({ keepAlive: true });
  const url = new URL(server.url);
  let lastId = 0;
  let session;
  const send = async (message) => {
    const answer = await post({ agent, url, body: JSON.stringify(message), session });
    session ??= answer.session;
    return answer.message;
  };
  return {
    request: (method, params) => send({ jsonrpc: "2.0", id: ++lastId, method, params }),
    notify: (method) => send({ jsonrpc: "2.0", method }),
    close: () => agent.destroy(),
  };
}

/** All tools of a server, each with a function that calls it. */
async function listTools(channel) {
  const tools = new Map();
  let cursor;
  do {
    const { result } = await channel.request("tools/list", cursor === undefined ? {} : { cursor });
    for (const { name, description, inputSchema } of result.tools) {
      const call = (args) => channel.request("tools/call", { name, arguments: args });
      tools.set(name, { name, description, inputSchema, call });
    }
    cursor = result.nextCursor;
  } while (cursor !== undefined);
  return tools;
}

export async function connectWith(servers, openHttp) {
  const open = {};
  const connectOne = async (server) => {
    const channel = server.url === undefined ? stdio(server) : openHttp(server);
    await channel.request("initialize", HELLO);
    await channel.notify("notifications/initialized");
    open[server.name] = { channel, tools: await listTools(channel) };
  };
  await Promise.all(servers.map(connectOne));
  return {
    count: (server) => open[server].tools.size,
    call: async (server, tool, args) => (await open[server].tools.get(tool).call(args)).result,
    close: () => {
      for (const { channel } of Object.values(open)) channel.close();
    },
  };
}

export const connect = (_lib, servers) => connectWith(servers, streamable);

export const read = ({ content, structuredContent }) => ({
  text: content.find((block) => block.type === "text")?.text,
  image: content.find((block) => block.type === "image")?.data,
  structured: structuredContent,
});
