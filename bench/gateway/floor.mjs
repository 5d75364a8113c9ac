/**
 * The floor of the gateway's benchmark: a proxy written by hand, `node:http` in front of one stdio server or one HTTP server.
 *
 * It replaces ids and progress tokens and does nothing else: no users, no limits, no errors, one server. Its answer is JSON, or an
 * event stream if the server reports progress.
 */
import { spawn } from "node:child_process";
import http from "node:http";
import process from "node:process";

const { upstream } = JSON.parse(process.argv[2]);

/** Open requests by their id at the server. */
const open = new Map();
let lastId = 0;

/** Sends a message of the client on, under an id of the proxy. */
function forward(message, response, send) {
  if (message.id === undefined) {
    send(JSON.stringify(message));
    response.writeHead(202).end();
    return;
  }
  const id = ++lastId;
  const meta = message.params?._meta;
  const token = meta?.progressToken;
  open.set(id, { id: message.id, token, response });
  message.id = id;
  if (token !== undefined) meta.progressToken = id;
  send(JSON.stringify(message));
}

/** Passes a message of the server back. */
function receive(message) {
  if (message.method === "notifications/progress") {
    const waiting = open.get(message.params.progressToken);
    message.params.progressToken = waiting.token;
    if (!waiting.response.headersSent)
      waiting.response.writeHead(200, { "content-type": "text/event-stream" });
    waiting.response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
    return;
  }
  const waiting = open.get(message.id);
  if (waiting === undefined) return;
  open.delete(message.id);
  message.id = waiting.id;
  const text = JSON.stringify(message);
  if (waiting.response.headersSent) return void waiting.response.end(`event: message\ndata: ${text}\n\n`);
  waiting.response.writeHead(200, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
  });
  waiting.response.end(text);
}

function toStdio({ command, args, env }) {
  const child = spawn(command, args, { env, stdio: ["pipe", "pipe", "inherit"] });
  let parts = [];
  child.stdout.on("data", (chunk) => {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      parts.push(chunk.subarray(start, end));
      receive(JSON.parse(Buffer.concat(parts).toString()));
      parts = [];
      start = end + 1;
    }
    if (start < chunk.length) parts.push(chunk.subarray(start));
  });
  return (text) => child.stdin.write(`${text}\n`);
}

function toHttp(url) {
  const agent = new http.Agent({ keepAlive: true });
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  return (text) => {
    const length = { "content-length": Buffer.byteLength(text) };
    const request = http.request(url, { method: "POST", agent, headers: { ...headers, ...length } });
    request.on("response", (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => {
        if (chunks.length > 0) receive(JSON.parse(Buffer.concat(chunks).toString()));
      });
    });
    request.end(text);
  };
}

const send = upstream.url === undefined ? toStdio(upstream) : toHttp(upstream.url);
const server = http.createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => forward(JSON.parse(Buffer.concat(chunks).toString()), response, send));
});
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
process.on("disconnect", () => process.exit(0));
