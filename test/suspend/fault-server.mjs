/**
 * A 2026-07-28 server of the SDK in a process of its own: `node fault-server.mjs <options as JSON>`.
 *
 * Appends `request <id>` and `commit <id>` to a file before it answers, so that the counts survive a kill. Its state is signed
 * and expires, as the SDK's codec does it.
 */
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  Server,
} from "@modelcontextprotocol/server";

const options = JSON.parse(process.argv[2] ?? "{}");
const {
  port = 0,
  log,
  description = "Books a flight",
  stateKey = "a key of the server with 32 bytes, at least",
  stateSeconds = 600,
  clockAheadMs = 0,
  maxDelayMs = 0,
} = options;

if (clockAheadMs > 0) {
  const now = Date.now;
  Date.now = () => now() + clockAheadMs;
}

const codec = createRequestStateCodec({ key: stateKey, ttlSeconds: stateSeconds });
const record = (kind, id) => appendFileSync(log, `${kind} ${id}\n`);
const text = (value) => ({ content: [{ type: "text", text: value }] });
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const randomPause = () => (maxDelayMs > 0 ? pause(Math.random() * maxDelayMs) : undefined);

const seatForm = {
  message: "Which seat?",
  requestedSchema: {
    type: "object",
    properties: { seat: { type: "string", minLength: 2 }, meal: { type: "string", default: "none" } },
    required: ["seat"],
  },
};
const payForm = {
  message: "Pay now?",
  requestedSchema: { type: "object", properties: { pay: { type: "boolean" } }, required: ["pay"] },
};

const ask = async (key, form, state) =>
  inputRequired({
    inputRequests: { [key]: inputRequired.elicit(form) },
    requestState: await codec.mint(state),
  });

/** Each gets the id of the call, the answers, and the checked state. */
const tools = {
  async book({ id, answers: { seat } }) {
    if (seat === undefined) return ask("seat", seatForm, { id });
    if (seat.action !== "accept") return text(`not booked: ${seat.action}`);
    record("commit", id);
    return text(`booked ${id}, seat ${seat.content.seat}, meal ${seat.content.meal}`);
  },
  /** The key of its question is new in every round. */
  async tour({ id, answers, state }) {
    const [answer] = Object.values(answers);
    const key = `q-${Math.random().toString(36).slice(2)}`;
    if (answer === undefined) return ask(key, seatForm, { id, asked: 1 });
    if (state.asked === 1) return ask(key, payForm, { id, asked: 2, seat: answer.content.seat });
    record("commit", id);
    return text(`toured ${id}, seat ${state.seat}`);
  },
  async note({ id }) {
    record("commit", id);
    return text(`noted ${id}`);
  },
  async fail({ id, answers: { seat } }) {
    if (seat === undefined) return ask("seat", seatForm, { id });
    record("commit", id);
    return { ...text("the tool failed"), isError: true };
  },
  /** Commits and never answers. */
  async hang({ id, answers: { seat } }) {
    if (seat === undefined) return ask("seat", seatForm, { id });
    record("commit", id);
    return new Promise(() => {});
  },
  async endless({ id }) {
    return ask("seat", seatForm, { id });
  },
  async large({ id, answers: { seat } }) {
    if (seat === undefined) return ask("seat", seatForm, { id });
    return ask("seat", seatForm, { id, rest: "x".repeat(1_100_000) });
  },
  /** Its second question is no request; `answer` below sends it, because the SDK would not. */
  async nonsense({ id, answers: { seat } }) {
    if (seat === undefined) return ask("seat", seatForm, { id });
    return text("nonsense");
  },
  /** Commits, then asks for another round without a question, and refuses the state that it sent. */
  async twice({ id, answers: { seat } }) {
    if (seat === undefined) return ask("seat", seatForm, { id });
    record("commit", id);
    return inputRequired({ requestState: `v1.${"x".repeat(40)}.forged` });
  },
};

const inputSchema = {
  type: "object",
  properties: { id: { type: "string" }, more: {} },
  required: ["id"],
};

function build() {
  const server = new Server(
    { name: "faults", version: "1.0.0" },
    { capabilities: { tools: {} }, requestState: { verify: codec.verify } },
  );
  server.setRequestHandler("tools/list", () => ({
    tools: Object.keys(tools).map((name) => ({ name, description, inputSchema })),
  }));
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const id = String(params.arguments?.id);
    record("request", id);
    await randomPause();
    const result = await tools[params.name]({
      id,
      answers: mcpReq.inputResponses ?? {},
      state: mcpReq.requestState(),
    });
    await randomPause();
    return result;
  });
  return server;
}

const handler = createMcpHandler(build, { legacy: "reject" });

async function answer(request, response) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const gone = new AbortController();
  response.once("close", () => response.writableFinished || gone.abort());
  const result = await handler.fetch(
    new Request(`http://${request.headers.host}${request.url}`, {
      method: request.method,
      headers: Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      signal: gone.signal,
      ...(body.length > 0 && { body }),
    }),
  );
  if (body.includes('"nonsense"') && body.includes('"inputResponses"')) {
    const { id } = JSON.parse(body.toString());
    const raw = { resultType: "input_required", inputRequests: { a: 5 } };
    response.setHeader("content-type", "application/json");
    return void response.end(JSON.stringify({ jsonrpc: "2.0", id, result: raw }));
  }
  response.writeHead(result.status, Object.fromEntries(result.headers));
  response.flushHeaders();
  if (result.body === null) return void response.end();
  await pipeline(Readable.fromWeb(result.body), response).catch(() => {});
}

const http = createServer(
  (request, response) => void answer(request, response).catch(() => response.destroy()),
);
http.listen(port, "127.0.0.1", () => process.stdout.write(`${http.address().port}\n`));
process.stdin.on("end", () => process.exit(0)).resume();
