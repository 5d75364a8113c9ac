/** Clients of both eras without the SDK: each request is one connection, so that a cut one is seen at once, and nothing is repeated. */
import { request as send } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

const META = "io.modelcontextprotocol/";
const MODERN = "2026-07-28";
const LEGACY = "2025-11-25";
/** How long a user thinks, at most. */
const THINK_MS = 400;
/** A call that takes longer hangs. */
const LIMIT_MS = 30_000;

/** Sends one message. `onMessage` gets every message of the response; resolves with its headers when it ends completely. */
function post({ port, token, call, message, headers = {}, signal }, onMessage) {
  return new Promise((resolve, reject) => {
    const outgoing = send({
      host: "127.0.0.1",
      port,
      path: "/mcp",
      method: "POST",
      agent: false,
      signal,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `Bearer ${token}`,
        "x-call": call,
        ...headers,
      },
    });
    outgoing.once("error", reject);
    outgoing.once("response", (response) => {
      const isStream = response.headers["content-type"]?.startsWith("text/event-stream");
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
        if (!isStream) return;
        const events = text.split("\n\n");
        text = events.pop();
        for (const event of events) {
          const data = event.split("\n").find((line) => line.startsWith("data:"));
          if (data !== undefined && data.length > 6) onMessage(JSON.parse(data.slice(5)));
        }
      });
      response.once("close", () => {
        if (!response.complete) return reject(new Error("The connection was cut"));
        if (!isStream && text !== "") {
          try {
            onMessage(JSON.parse(text));
          } catch {
            return reject(new Error(`HTTP ${response.statusCode}: ${text.slice(0, 200)}`));
          }
        }
        if (response.statusCode >= 400)
          return reject(new Error(`HTTP ${response.statusCode}: ${text.slice(0, 300)}`));
        resolve(response.headers);
      });
    });
    outgoing.end(JSON.stringify(message));
  });
}

/** The result of a request, or an error. */
async function ask(options, onRequest = () => {}) {
  let answer;
  const headers = await post(options, (message) => {
    if (message.method !== undefined) onRequest(message);
    else if (message.id === options.message.id) answer = message;
  });
  if (answer?.error !== undefined) throw new Error(`${answer.error.code}: ${answer.error.message}`);
  if (answer === undefined) throw new Error("The response has no answer");
  return { result: answer.result, headers };
}

/** The answer to a question; `wrong` gets a question that is not for this call. */
const answerTo = ({ message }, { user, call }, wrong) => {
  if (message !== `${user} ${call}`) wrong(`${user} was asked "${message}" in ${call}`);
  return { action: "accept", content: { answer: message } };
};

const think = () => delay(Math.random() * THINK_MS);

/**
 * A client for one user.
 *
 * @param wrong called with what must never happen
 * @returns a function that makes a call and resolves with the text of its result
 */
export async function connectClient({ era, port, user, wrong }) {
  const base = { port, token: `client-${user}` };
  const session = era === "legacy" ? await initialize(base, user) : undefined;
  return async function callTool(name, args) {
    const signal = AbortSignal.timeout(LIMIT_MS);
    const options = { ...base, call: args.call, signal };
    const result =
      era === "legacy"
        ? await callLegacy(options, { name, args, session, wrong })
        : await callModern(options, { name, args, wrong });
    const text = result.content?.[0]?.text ?? "";
    if (result.isError === true) throw new Error(text);
    return text;
  };
}

async function callModern(options, { name, args, wrong }) {
  let more = {};
  for (let round = 1; ; round++) {
    const _meta = {
      [`${META}protocolVersion`]: MODERN,
      [`${META}clientCapabilities`]: { elicitation: { form: {} } },
    };
    const params = { name, arguments: args, ...more, _meta };
    const headers = { "mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": name };
    const message = { jsonrpc: "2.0", id: `${args.call}/${round}`, method: "tools/call", params };
    const { result } = await ask({ ...options, headers, message });
    if (result.resultType !== "input_required") return result;
    await think();
    const inputResponses = Object.fromEntries(
      Object.entries(result.inputRequests).map(([key, request]) => [
        key,
        answerTo(request.params, args, wrong),
      ]),
    );
    more = { inputResponses, requestState: result.requestState };
  }
}

async function initialize(base, user) {
  const params = {
    protocolVersion: LEGACY,
    capabilities: { elicitation: {} },
    clientInfo: { name: "replicas", version: "1" },
  };
  const message = { jsonrpc: "2.0", id: 0, method: "initialize", params };
  const { headers } = await ask({ ...base, call: `session of ${user}`, message });
  const session = { "mcp-session-id": headers["mcp-session-id"], "mcp-protocol-version": LEGACY };
  const notification = { jsonrpc: "2.0", method: "notifications/initialized" };
  await post({ ...base, call: `session of ${user}`, message: notification, headers: session }, () => {});
  return session;
}

async function callLegacy(options, { name, args, session, wrong }) {
  const answer = async (request) => {
    await think();
    const message = { jsonrpc: "2.0", id: request.id, result: answerTo(request.params, args, wrong) };
    const reply = { ...options, headers: session, message };
    // The replica that carries the answer may be killed. An answer is taken once, so it may be sent again.
    await post(reply, () => {}).catch(() => post(reply, () => {}));
  };
  const message = { jsonrpc: "2.0", id: args.call, method: "tools/call", params: { name, arguments: args } };
  const { result } = await ask({ ...options, headers: session, message }, (request) => {
    // If the answer cannot be delivered, the stream of the call is cut too.
    if (request.method === "elicitation/create") answer(request).catch(() => {});
  });
  return result;
}
