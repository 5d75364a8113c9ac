/** What both servers have in common: their tool, its result, and its question. */
import { setTimeout as delay } from "node:timers/promises";

const properties = { user: { type: "string" }, call: { type: "string" }, ask: { type: "boolean" } };

export const TOOL = {
  name: "work",
  description: "Does something once for a user.",
  inputSchema: { type: "object", properties, required: ["user", "call"] },
};

/** So long that calls are in flight when a replica is killed. */
const WORK_MS = 40;
export const work = () => delay(WORK_MS);

export const doneText = ({ user, call }) => `${user} ${call} done`;

/** The question names its user and call; the answer has to repeat both. */
export const questionOf = ({ user, call }) => ({
  mode: "form",
  message: `${user} ${call}`,
  requestedSchema: { type: "object", properties: { answer: { type: "string" } }, required: ["answer"] },
});

export const isRightAnswer = (response, { user, call }) =>
  response?.action === "accept" && response.content?.answer === `${user} ${call}`;

export const rpcError = (id, code, message) => ({ jsonrpc: "2.0", id, error: { code, message } });
export const rpcResult = (id, result) => ({ jsonrpc: "2.0", id, result });

export function sendJson(response, status, message, headers = {}) {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(message));
}
