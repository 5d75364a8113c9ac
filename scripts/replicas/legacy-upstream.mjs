/** A server of revision 2025-11-25 with sessions; it asks on the stream of the call. */
import { randomUUID } from "node:crypto";
import {
  doneText,
  isRightAnswer,
  questionOf,
  rpcError,
  rpcResult,
  sendJson,
  TOOL,
  work,
} from "./upstream-tool.mjs";

const VERSION = "2025-11-25";

export function createLegacyServer({ record, cross }) {
  const sessions = new Map();
  const questions = new Map();

  async function call(response, { id, params }, session) {
    const { ask, ...args } = params.arguments;
    const stream = response.writeHead(200, { "content-type": "text/event-stream" });
    stream.flushHeaders();
    const send = (message) => stream.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
    if (ask === true) {
      if (session.capabilities.elicitation === undefined)
        return stream.end(`data: ${JSON.stringify(rpcError(id, -32602, "The client cannot be asked"))}\n\n`);
      record("ask", args, session.user, "legacy");
      const answer = await askClient(response, send, args, session.user);
      // The gateway is gone: the call did not run.
      if (answer === undefined) return;
      if (!isRightAnswer(answer, args))
        cross(`legacy: ${args.call} got the answer ${JSON.stringify(answer)}`);
    }
    record("run", args, session.user, "legacy");
    await work();
    send(rpcResult(id, { content: [{ type: "text", text: doneText(args) }] }));
    stream.end();
  }

  function askClient(response, send, args, user) {
    const id = randomUUID();
    return new Promise((resolve) => {
      questions.set(id, { user, resolve });
      response.once("close", () => resolve(undefined));
      send({ jsonrpc: "2.0", id, method: "elicitation/create", params: questionOf(args) });
    }).finally(() => questions.delete(id));
  }

  function takeAnswer({ id, result, error }, user) {
    const question = questions.get(id);
    if (question === undefined) return;
    if (question.user !== user) cross(`legacy: ${user} answered a question to ${question.user}`);
    question.resolve(result ?? error);
  }

  return function serve(request, response, body, user) {
    if (request.method !== "POST") return response.writeHead(request.method === "DELETE" ? 200 : 405).end();
    const message = JSON.parse(body);
    if (message.method === "initialize") {
      const id = randomUUID();
      sessions.set(id, { user, capabilities: message.params.capabilities });
      const result = {
        protocolVersion: VERSION,
        capabilities: { tools: {} },
        serverInfo: { name: "l", version: "1" },
      };
      return sendJson(response, 200, rpcResult(message.id, result), { "mcp-session-id": id });
    }
    const session = sessions.get(request.headers["mcp-session-id"]);
    if (session === undefined) return sendJson(response, 404, rpcError(null, -32001, "Session not found"));
    if (session.user !== user) cross(`legacy: ${user} uses the session of ${session.user}`);
    if (message.method === undefined) takeAnswer(message, user);
    if (message.id === undefined || message.method === undefined) return response.writeHead(202).end();
    if (message.method === "tools/call") return void call(response, message, session);
    if (message.method === "tools/list")
      return sendJson(response, 200, rpcResult(message.id, { tools: [TOOL] }));
    if (message.method === "ping") return sendJson(response, 200, rpcResult(message.id, {}));
    sendJson(response, 200, rpcError(message.id, -32601, "Unknown method"));
  };
}
