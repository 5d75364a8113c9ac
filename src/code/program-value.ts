/** What a program gets for a call: the result of the tool as a value, or an error that is thrown. */
import { toContentPart } from "../content/content-part.js";
import { partNote } from "../content/part-note.js";
import { ToolportError } from "../errors/toolport-error.js";
import type { Artifacts } from "../execution/artifacts/artifact-store.js";
import type { ToolResult } from "../execution/tool-result.js";
import type { ToolInfo } from "../model/tool-info.js";
import type { ProgramAnswer } from "./code-executor.js";

/** Code of the error for a tool that reports failure. */
export const TOOL_FAILED = "TOOL_ERROR";

/** Structured content if there is any, else the text. Images and files stay at the host; the program gets a note. */
export function toAnswer(
  result: ToolResult,
  { tool, artifacts }: { tool: ToolInfo; artifacts: Artifacts | undefined },
): ProgramAnswer {
  if (result.isError) {
    const message = textOf(result, tool, artifacts) || "The tool reports a failure without a message.";
    return toError(TOOL_FAILED, message);
  }
  if (result.structuredContent !== undefined) return { value: JSON.stringify(result.structuredContent) };
  const text = textOf(result, tool, artifacts);
  // A tool with an output schema promises JSON, even if it sends it as text.
  return { value: tool.outputSchema !== undefined && isJson(text) ? text : JSON.stringify(text) };
}

function textOf({ content }: ToolResult, tool: ToolInfo, artifacts: Artifacts | undefined): string {
  return content
    .map((block) => {
      const part = toContentPart(block);
      const note = partNote(part);
      if (!("data" in part)) return note;
      const { server, sourceName } = tool;
      const id = artifacts?.keep(part.data, { server, tool: sourceName, mimeType: part.mimeType });
      return id === undefined ? note : `${note} (artifact ${id})`;
    })
    .join("\n");
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

export const toError = (code: string, message: string): ProgramAnswer => ({
  error: { name: "ToolError", code, message },
});

/** Errors of Toolport are written for users. Other errors may contain anything of the host. */
export const toThrown = (error: unknown): ProgramAnswer =>
  ToolportError.isInstance(error)
    ? toError(error.code, error.message)
    : toError("CALL_FAILED", "The call failed at the host.");
