/** A server of revision 2026-07-28 without sessions; it asks by `input_required`. */
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

const VERSION = "2026-07-28";
const META = "io.modelcontextprotocol/";
const CACHE = { resultType: "complete", ttlMs: 3_600_000, cacheScope: "private" };

export function createModernServer({ record, cross }) {
  async function call(response, { id, params }, user) {
    const { ask, ...args } = params.arguments;
    if (ask === true && params.requestState === undefined) {
      record("ask", args, user, "modern");
      const inputRequests = { sure: { method: "elicitation/create", params: questionOf(args) } };
      const requestState = JSON.stringify({ ...args, owner: user });
      return sendJson(
        response,
        200,
        rpcResult(id, { resultType: "input_required", inputRequests, requestState }),
      );
    }
    if (ask === true) checkAnswer(params, args, user);
    record("run", args, user, "modern");
    await work();
    const content = [{ type: "text", text: doneText(args) }];
    sendJson(response, 200, rpcResult(id, { resultType: "complete", content }));
  }

  function checkAnswer({ requestState, inputResponses }, args, user) {
    const state = JSON.parse(requestState);
    if (state.call !== args.call || state.owner !== user)
      cross(`modern: ${args.call} of ${user} came with the state ${requestState}`);
    if (!isRightAnswer(inputResponses?.sure, args))
      cross(`modern: ${args.call} got the answer ${JSON.stringify(inputResponses)}`);
  }

  const methods = {
    "server/discover": () => ({ ...CACHE, supportedVersions: [VERSION], capabilities: { tools: {} } }),
    "tools/list": () => ({ ...CACHE, tools: [TOOL] }),
  };

  return function serve(request, response, body, user) {
    if (request.method !== "POST") return response.writeHead(405).end();
    const message = JSON.parse(body);
    const meta = message.params?._meta ?? {};
    if (meta[`${META}protocolVersion`] !== VERSION || request.headers["mcp-protocol-version"] !== VERSION)
      return sendJson(response, 400, rpcError(message.id ?? null, -32022, "Unsupported protocol version"));
    if (request.headers["mcp-method"] !== message.method)
      return sendJson(response, 400, rpcError(message.id ?? null, -32020, "Wrong Mcp-Method"));
    if (message.id === undefined) return response.writeHead(202).end();
    if (message.method === "tools/call") return void call(response, message, user);
    const result = methods[message.method]?.();
    if (result !== undefined) return sendJson(response, 200, rpcResult(message.id, result));
    sendJson(response, 404, rpcError(message.id, -32601, "Unknown method"));
  };
}
