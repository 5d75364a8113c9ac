/** `toolport call`: one tool call. */
import { relative, resolve } from "node:path";
import type { ServerEntry } from "../../config/server-entry.js";
import { type ContentPart, toContentParts } from "../../content/content-part.js";
import type { ToolResult } from "../../execution/tool-result.js";
import type { ToolInfo } from "../../model/tool-info.js";
import { answerForms } from "../answer-forms.js";
import { CliError } from "../cli-error.js";
import { type Invocation, textOption } from "../command.js";
import { EXIT } from "../exit-codes.js";
import { shellWord } from "../next-command.js";
import { readArguments } from "../read-arguments.js";
import { isBytes, type SavedFile, saveBytes } from "../save-bytes.js";
import { selectTool } from "../select-tool.js";
import type { OpenedPort, Shell } from "../shell.js";
import { shownPart } from "../shown-part.js";

export async function run(invocation: Invocation, shell: Shell): Promise<number> {
  const [selector = "", ...words] = invocation.words;
  const base = await readBase(invocation, shell);
  const { opened, tool } = await selectTool(shell, selector, {
    command: "call",
    options: answerForms(shell),
    ...(await recording(invocation, shell)),
  });
  const args = readArguments(words, tool.inputSchema, base);
  const result = await callWithProgress(shell, opened, { tool, args });
  const parts = toContentParts(result.content);
  const folder = textOption(invocation, "save-images");
  const stem = `${tool.server}-${tool.sourceName}`;
  const files =
    folder === undefined ? [] : await saveBytes(parts, { folder: resolve(shell.cwd, folder), stem });
  await printResult(shell, { tool, result, parts, files });
  if (!result.isError) return EXIT.ok;
  throw new CliError({
    code: "TOOL_ERROR",
    message: `The tool ${tool.server}.${tool.sourceName} reported an error`,
    next: `toolport tools ${shellWord(`${tool.server}.${tool.sourceName}`)}`,
    exitCode: EXIT.toolError,
    server: result.server,
    tool: tool.sourceName,
  });
}

/** `--args`: JSON on the line, or from stdin. */
async function readBase(invocation: Invocation, shell: Shell): Promise<Record<string, unknown>> {
  const given = textOption(invocation, "args");
  if (given === undefined) return {};
  const text = given === "-" ? await shell.readAllInput() : given;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Told below: what is no JSON is no object either.
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new CliError({
    message: "--args needs a JSON object",
    next: `toolport call ${shellWord(invocation.words[0] ?? "server.tool")} --args '{"key":"value"}'`,
  });
}

/** `--record`: everything that is said goes into a file as well, to be played back without the server. */
async function recording(
  invocation: Invocation,
  shell: Shell,
): Promise<{ change?: (entry: ServerEntry) => ServerEntry }> {
  const file = textOption(invocation, "record");
  if (file === undefined) return {};
  const { recordServer } = await import("../../testing/record-server.js");
  const path = resolve(shell.cwd, file);
  const onError = (error: Error) => shell.warn(`The recording ends: ${error.message}`);
  return { change: (entry) => recordServer(entry, path, { onError }) };
}

async function callWithProgress(
  shell: Shell,
  { toolport }: OpenedPort,
  { tool, args }: { tool: ToolInfo; args: Record<string, unknown> },
): Promise<ToolResult> {
  const title = `${tool.server}.${tool.sourceName}`;
  const progress = shell.progress(title);
  try {
    return await toolport.callTool(tool.name, args, {
      signal: shell.signal,
      ...(shell.timeoutMs !== undefined && { timeoutMs: shell.timeoutMs }),
      onProgress: ({ progress: done, total, message }) => {
        const share = total === undefined ? String(done) : `${done}/${total}`;
        progress.update([title, share, message].filter(Boolean).join(" "));
      },
    });
  } finally {
    progress.done();
  }
}

interface Answer {
  readonly tool: ToolInfo;
  readonly result: ToolResult;
  readonly parts: readonly ContentPart[];
  readonly files: readonly SavedFile[];
}

async function printResult(shell: Shell, { tool, result, parts, files }: Answer): Promise<void> {
  if (shell.form === "json") {
    const { text, content, structuredContent, isError, _meta, server, attempts, durationMs } = result;
    shell.printJson({
      ...{ server, tool: tool.sourceName, name: tool.name, isError, text, content },
      ...(structuredContent !== undefined && { structuredContent }),
      ...(_meta !== undefined && { _meta }),
      ...(files.length > 0 && { files }),
      ...{ attempts, durationMs: Math.round(durationMs) },
    });
    return;
  }
  const [only] = parts;
  if (shell.form === "raw" && files.length === 0 && parts.length === 1 && only !== undefined && isBytes(only))
    return shell.printBytes(Buffer.from(only.data, "base64"));
  const lines = parts.flatMap((part, index) => {
    const file = files.find((saved) => saved.index === index);
    if (file !== undefined) return `Saved ${shorter(file.path, shell.cwd)} (${file.bytes} bytes)`;
    if (shell.form === "raw" && part.kind === "text-resource") return part.text;
    return shownPart(part);
  });
  if (lines.length > 0) shell.print(lines.join("\n"));
  else if (result.structuredContent !== undefined)
    shell.print(JSON.stringify(result.structuredContent, undefined, 2));
  if (files.length === 0 && parts.some(isBytes))
    shell.tell("Keep such parts with --save-images <dir>", "dim");
}

function shorter(path: string, cwd: string): string {
  const near = relative(cwd, path);
  return near.startsWith("..") ? path : near;
}
