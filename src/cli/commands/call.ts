/** `toolport call`: calls a tool and prints the result. */
import { relative, resolve } from "node:path";
import type { ServerEntry } from "../../config/server-entry.js";
import { type ContentPart, toContentParts } from "../../content/content-part.js";
import type { ToolResult } from "../../execution/tool-result.js";
import type { ToolInfo } from "../../model/tool-info.js";
import { CliError } from "../cli-error.js";
import { type Invocation, type RunCommand, textOption } from "../command.js";
import type { CommandContext, OpenedPort } from "../command-context.js";
import { elicitOnTerminal } from "../elicit-on-terminal.js";
import { EXIT } from "../exit-codes.js";
import { formatPart } from "../format-part.js";
import { shellWord } from "../next-command.js";
import { readArguments } from "../read-arguments.js";
import { isBytes, type SavedFile, saveBytes } from "../save-bytes.js";
import { selectTool } from "../select-tool.js";

export const callCommand: RunCommand = async (invocation, context) => {
  const [selector = "", ...words] = invocation.words;
  const base = await readBase(invocation, context);
  const { opened, tool } = await selectTool(context, selector, {
    command: "call",
    options: elicitOnTerminal(context),
    ...(await recording(invocation, context)),
  });
  const args = readArguments(words, tool.inputSchema, base);
  const result = await callWithProgress(context, opened, { tool, args });
  const parts = toContentParts(result.content);
  const folder = textOption(invocation, "save-images");
  const stem = `${tool.server}-${tool.sourceName}`;
  const files =
    folder === undefined ? [] : await saveBytes(parts, { folder: resolve(context.cwd, folder), stem });
  await printResult(context, { tool, result, parts, files });
  if (!result.isError) return EXIT.ok;
  throw new CliError({
    code: "TOOL_ERROR",
    message: `The tool ${tool.server}.${tool.sourceName} reported an error`,
    next: `toolport tools ${shellWord(`${tool.server}.${tool.sourceName}`)}`,
    exitCode: EXIT.toolError,
    server: result.server,
    tool: tool.sourceName,
  });
};

/** Reads `--args`: JSON, or `-` for stdin. */
async function readBase(invocation: Invocation, context: CommandContext): Promise<Record<string, unknown>> {
  const given = textOption(invocation, "args");
  if (given === undefined) return {};
  const text = given === "-" ? await context.readAllInput() : given;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Reported below, like any value that is not an object.
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new CliError({
    message: "--args requires a JSON object",
    next: `toolport call ${shellWord(invocation.words[0] ?? "server.tool")} --args '{"key":"value"}'`,
  });
}

/** `--record`: records all messages in a file, which a test can replay without the server. */
async function recording(
  invocation: Invocation,
  context: CommandContext,
): Promise<{ change?: (entry: ServerEntry) => ServerEntry }> {
  const file = textOption(invocation, "record");
  if (file === undefined) return {};
  const { recordServer } = await import("../../testing/record-server.js");
  const path = resolve(context.cwd, file);
  const onError = (error: Error) => context.warn(`The recording stopped: ${error.message}`);
  return { change: (entry) => recordServer(entry, path, { onError }) };
}

async function callWithProgress(
  context: CommandContext,
  { toolport }: OpenedPort,
  { tool, args }: { tool: ToolInfo; args: Record<string, unknown> },
): Promise<ToolResult> {
  const title = `${tool.server}.${tool.sourceName}`;
  const progress = context.progress(title);
  try {
    return await toolport.callTool(tool.name, args, {
      signal: context.signal,
      ...(context.timeoutMs !== undefined && { timeoutMs: context.timeoutMs }),
      onProgress: ({ progress: done, total, message }) => {
        const share = total === undefined ? String(done) : `${done}/${total}`;
        progress.update([title, share, message].filter(Boolean).join(" "));
      },
    });
  } finally {
    progress.done();
  }
}

interface CallOutcome {
  readonly tool: ToolInfo;
  readonly result: ToolResult;
  readonly parts: readonly ContentPart[];
  readonly files: readonly SavedFile[];
}

async function printResult(
  context: CommandContext,
  { tool, result, parts, files }: CallOutcome,
): Promise<void> {
  if (context.form === "json") {
    const { text, content, structuredContent, isError, _meta, server, attempts, durationMs } = result;
    context.printJson({
      ...{ server, tool: tool.sourceName, name: tool.name, isError, text, content },
      ...(structuredContent !== undefined && { structuredContent }),
      ...(_meta !== undefined && { _meta }),
      ...(files.length > 0 && { files }),
      ...{ attempts, durationMs: Math.round(durationMs) },
    });
    return;
  }
  const [only] = parts;
  if (
    context.form === "raw" &&
    files.length === 0 &&
    parts.length === 1 &&
    only !== undefined &&
    isBytes(only)
  )
    return context.printBytes(Buffer.from(only.data, "base64"));
  const lines = parts.flatMap((part, index) => {
    const file = files.find((saved) => saved.index === index);
    if (file !== undefined) return `Saved ${shorter(file.path, context.cwd)} (${file.bytes} bytes)`;
    if (context.form === "raw" && part.kind === "text-resource") return part.text;
    return formatPart(part);
  });
  if (lines.length > 0) context.print(lines.join("\n"));
  else if (result.structuredContent !== undefined)
    context.print(JSON.stringify(result.structuredContent, undefined, 2));
  if (files.length === 0 && parts.some(isBytes))
    context.info("Save binary parts with --save-images <dir>", "dim");
}

function shorter(path: string, cwd: string): string {
  const near = relative(cwd, path);
  return near.startsWith("..") ? path : near;
}
