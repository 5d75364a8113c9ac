/** A client so cheap that it does not slow down the gateways: `node:http` with keep-alive, bodies made beforehand. */
import http from "node:http";
import { sleep } from "../process-figures.mjs";

const META = "io.modelcontextprotocol";
const MODERN = "2026-07-28";
const LEGACY = "2025-11-25";
const HEAD = '{"jsonrpc":"2.0","id":';
const FIRST_ID = 1_000_000;
const ANSWER_MS = 20_000;

/** Connects to a gateway. Tries again until it listens. */
export async function connectClient({ url, era, headers = {}, prefix = "" }) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
  const fixed = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": era === "modern" ? MODERN : LEGACY,
    ...headers,
  };
  const envelope = {
    [`${META}/protocolVersion`]: MODERN,
    [`${META}/clientInfo`]: { name: "bench", version: "1.0.0" },
    [`${META}/clientCapabilities`]: {},
  };

  /** A request that can be sent many times. */
  function prepare(method, params = {}, meta = {}) {
    const _meta = { ...(era === "modern" && envelope), ...meta };
    const all = Object.keys(_meta).length === 0 ? params : { ...params, _meta };
    const rest = `,"method":${JSON.stringify(method)},"params":${JSON.stringify(all)}}`;
    const own = { ...fixed, "content-length": Buffer.byteLength(`${HEAD}${FIRST_ID}${rest}`) };
    if (era === "modern") {
      own["mcp-method"] = method;
      if (method === "tools/call") own["mcp-name"] = params.name;
    }
    return { rest, headers: own };
  }

  /** Ids must be unique in a session. All have the same length. */
  let lastId = FIRST_ID;
  const bodyOf = ({ rest, body }) => body ?? `${HEAD}${++lastId}${rest}`;

  const post = (prepared) =>
    new Promise((resolve, reject) => {
      const options = { method: "POST", agent, headers: prepared.headers, timeout: ANSWER_MS };
      const request = http.request(url, options, (response) => {
        const chunks = [];
        response.on("data", (chunk) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => resolve({ response, text: Buffer.concat(chunks).toString() }));
      });
      request.on("timeout", () => request.destroy(new Error("No answer in time")));
      request.on("error", reject);
      request.end(bodyOf(prepared));
    });

  /** Opens a stream and resolves with it after its first bytes. */
  const open = (prepared) =>
    new Promise((resolve, reject) => {
      const options = { method: "POST", agent: false, headers: prepared.headers };
      const request = http.request(url, options, (response) => {
        response.on("error", () => {});
        if (response.statusCode !== 200)
          return reject(new Error(`The stream was refused: ${response.statusCode}`));
        response.once("data", () => resolve(request));
      });
      request.on("error", reject);
      request.end(bodyOf(prepared));
    });

  const client = {
    post,
    open,
    prepare,
    call: (name, args, meta) => prepare("tools/call", { name: `${prefix}${name}`, arguments: args }, meta),
    close: () => agent.destroy(),
  };
  if (era === "modern") {
    await untilServed(() => post(prepare("server/discover")));
    return client;
  }
  const clientInfo = { name: "bench", version: "1.0.0" };
  const hello = prepare("initialize", { protocolVersion: LEGACY, capabilities: {}, clientInfo });
  const { response } = await untilServed(() => post(hello));
  const session = response.headers["mcp-session-id"];
  if (session !== undefined) fixed["mcp-session-id"] = session;
  const body = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" });
  await post({ body, headers: { ...fixed, "content-length": Buffer.byteLength(body) } });
  return client;
}

const START_MS = 20_000;

async function untilServed(post) {
  const limit = performance.now() + START_MS;
  for (;;) {
    const outcome = await post().catch((error) => ({ error }));
    if (outcome.response?.statusCode === 200) return outcome;
    if (performance.now() > limit)
      throw new Error(`No answer: ${outcome.error ?? `${outcome.response.statusCode} ${outcome.text}`}`);
    await sleep(20);
  }
}

/** Sends a request `count` times, `inFlight` at a time. Every answer must contain `expected`. */
export async function sendMany(client, request, { count, inFlight, expected }) {
  let left = count;
  const one = async () => {
    while (left-- > 0) {
      const { text } = await client.post(request);
      if (!text.includes(expected)) throw new Error(`Wrong answer: ${text.slice(0, 300)}`);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, one));
}
