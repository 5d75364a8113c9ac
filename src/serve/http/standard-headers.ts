/** Headers that repeat parts of a modern request: they must agree with the body, which alone decides. */
import { decodeHeaderText } from "../../util/header-text.js";
import { type ClientRequest, mismatch } from "../message.js";
import type { HttpRequest } from "./http-request.js";

/** The parameter that `Mcp-Name` repeats. */
const NAMED: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/** Throws `-32020` if a header is missing or disagrees with the body. */
export function checkStandardHeaders(request: HttpRequest, { method, params }: ClientRequest): void {
  const named = request.header("mcp-method")?.trim();
  if (named === undefined) throw mismatch("the Mcp-Method header is missing");
  if (named !== method) throw mismatch("the Mcp-Method header names another method");
  const field = Object.hasOwn(NAMED, method) ? NAMED[method]! : undefined;
  const value = field === undefined ? undefined : params[field];
  if (typeof value !== "string") return;
  const header = request.header("mcp-name")?.trim();
  if (header === undefined) throw mismatch("the Mcp-Name header is missing");
  const decoded = decodeHeaderText(header);
  if (decoded === undefined) throw mismatch("the Mcp-Name header is not encoded correctly");
  if (decoded !== value) throw mismatch(`the Mcp-Name header differs from params.${field}`);
}
