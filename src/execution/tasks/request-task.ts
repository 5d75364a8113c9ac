/** Decides whether a call is sent as a task, and creates the receipt for callers that want a handle. */
import { CatalogError } from "../../errors/catalog-error.js";
import type { Session } from "../../protocol/session.js";
import { taskSupport } from "../../protocol/tasks.js";
import type { ToolCall } from "../tool-call.js";
import type { ToolResult } from "../tool-result.js";
import { taskFault } from "./task-errors.js";
import { TASK_META_KEY, type TaskRecord } from "./task-record.js";

const DEFAULT_TTL_MS = 60 * 60 * 1_000;

/**
 * The `task` parameter of `tools/call`; undefined for none. In the modern era the server decides alone. Throws if the caller
 * wants a task and the tool does not support it.
 */
export function requestTask(
  { tool, options, deadline }: ToolCall,
  session: Session,
  execution: Readonly<Record<string, unknown>> | undefined,
): { ttl: number } | undefined {
  const support = taskSupport(session, execution);
  if (support === "never" && options.task) {
    throw new CatalogError({
      code: "NOT_OFFERED",
      server: tool.server,
      tool: tool.sourceName,
      what: "The tool cannot run as a task",
      next: "Call it without task: true",
    });
  }
  if (session.era === "modern" || support === "never") return undefined;
  if (support === "optional" && !options.task) return undefined;
  const wish = typeof options.task === "object" ? options.task.ttlMs : undefined;
  const leftMs = deadline - performance.now();
  // At least as long as the caller waits.
  return { ttl: wish ?? Math.max(DEFAULT_TTL_MS, Number.isFinite(leftMs) ? Math.ceil(leftMs) : 0) };
}

/** Throws if the server announces a task in a form that is not supported. */
export function requireResult({ tool }: ToolCall, raw: Record<string, unknown>): Record<string, unknown> {
  if (raw["resultType"] !== "task") return raw;
  const where = { server: tool.server, tool: tool.sourceName };
  throw taskFault(where, "The server answered with a task that cannot be understood", raw);
}

const receipts = new WeakSet<object>();

/** Takes the place of the result: names the created task. */
export function taskReceipt(record: TaskRecord): Record<string, unknown> {
  const content = [{ type: "text", text: "The server continues the work as a task." }];
  const receipt = { content, _meta: { [TASK_META_KEY]: record } };
  receipts.add(receipt);
  return receipt;
}

/** Removes a receipt that came from the server, because only Toolport creates receipts. */
export function withoutReceipt(
  { options, task }: ToolCall,
  result: ToolResult,
  raw: Record<string, unknown>,
): ToolResult {
  if (!options.task || task !== undefined || result._meta?.[TASK_META_KEY] === undefined) return result;
  if (receipts.has(raw)) return result;
  const { [TASK_META_KEY]: _, ...meta } = result._meta;
  return { ...result, _meta: meta };
}
