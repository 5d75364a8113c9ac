/** Runs one call of a LangChain tool: calls the hooks, converts the result, and throws failures as LangChain expects them. */
import { isDirectToolOutput, ToolMessage } from "@langchain/core/messages";
import { ToolInputParsingException } from "@langchain/core/tools";
import {
  debugChannel,
  isRecord,
  ToolCallError,
  type ToolInfo,
  ToolportError,
  toRecord,
  utf8Length,
} from "@toolport/base";
import type { CallToolOptions, ToolResult } from "@toolport/core";
import { partNote } from "@toolport/core/internal";
import type { SchemaTarget } from "@toolport/schemas";
import type { CompactOptions } from "@toolport/schemas/internal";
import { calledTool, type FitFacts, type PartFitter } from "../for-model.js";
import { type AudienceRule, textPart } from "../model-content.js";
import type { ToolSource } from "../tool-source.js";
import type {
  GraphCommand,
  HookState,
  LoadMcpToolsOptions,
  ModifiedToolCallResult,
  OutputConfig,
  ToolHooks,
} from "./client-config.js";
import {
  type OutputOptions,
  resolveOutputHandling,
  type ToolOutput,
  textForModel,
  toToolOutput,
} from "./content.js";
import { ToolException } from "./errors.js";
import {
  callInterruptibly,
  type InterruptibleCall,
  type Interrupts,
  stateOf,
  type ToolConfig,
  timeoutOf,
  toolCallIdOf,
} from "./interrupts.js";

const debug = debugChannel("call");

/** Options with defaults. */
interface ToolSettings extends OutputOptions {
  readonly audience: AudienceRule;
  /** Undefined: the port's own limits. */
  readonly defaultToolTimeout: number | undefined;
  readonly toolErrors: "throw" | "message";
  readonly maxResourceBytes: number;
}

export interface ToolPort {
  readonly toolport: ToolSource;
  readonly hooks: ToolHooks;
  /** The form of the schemas that models see. */
  readonly target: SchemaTarget;
  /** How schemas and descriptions are shortened; undefined: not at all. */
  readonly compact?: CompactOptions | undefined;
  /** By server: the result of a fallback server is mapped with the settings of that server. */
  settingsOf(server: string): ToolSettings;
  /** A port that sends these headers, for transports that cannot send them with a single call; undefined if none can. */
  withHeaders?(server: string, headers: Readonly<Record<string, string>>): Promise<ToolSource | undefined>;
  /** `extras` of a tool: fields that LangChain passes on to providers that know them. */
  extrasOf?(tool: ToolInfo): Record<string, unknown> | undefined;
  /** Makes results fit into the context of a model. Undefined: models get all of them. */
  readonly fitParts?: PartFitter | undefined;
  /** Undefined: calls never interrupt a graph. */
  readonly interrupts?: Interrupts | undefined;
  /** `_meta` for every call of a server. */
  metaOf?(server: string): Readonly<Record<string, unknown>> | undefined;
}

const DEFAULT_MAX_RESOURCE_BYTES = 4 * 1024 * 1024;

/** The settings of one server: its own, then those of the top level, then the defaults. */
export function readSettings(options: LoadMcpToolsOptions, own: OutputConfig = {}): ToolSettings {
  // The README of `@langchain/mcp-adapters` uses 0 for "not set".
  const timeout = own.defaultToolTimeout || options.defaultToolTimeout;
  return {
    useStandardContentBlocks: options.useStandardContentBlocks ?? false,
    outputHandling: resolveOutputHandling(options.outputHandling, own.outputHandling),
    defaultToolTimeout: timeout || undefined,
    toolErrors: options.toolErrors ?? "throw",
    maxResourceBytes: options.maxResourceBytes ?? DEFAULT_MAX_RESOURCE_BYTES,
    audience: own.audience ?? options.audience ?? "respect",
    onLeftOut: options.onLeftOut,
  };
}

interface ToolRun {
  readonly tool: ToolInfo;
  /** The name in LangChain. It differs from the name in the port if two ports have tools of the same name. */
  readonly name: string;
  readonly port: ToolPort;
  readonly args: unknown;
  readonly config: ToolConfig;
}

/**
 * Runs a tool. Throws LangChain's `ToolInputParsingException` for invalid arguments, a `ToolException` for any other
 * failure, or the reason of the caller's signal.
 */
export async function runTool(run: ToolRun): Promise<RunOutput> {
  const startedAt = performance.now();
  const { server, sourceName } = run.tool;
  try {
    if (debug.enabled) debug(`[${server}/${sourceName}] called`);
    const output = await callWithHooks(run);
    if (debug.enabled) debug(`[${server}/${sourceName}] answered`);
    return output;
  } catch (error) {
    const thrown = toThrown(error, run, performance.now() - startedAt);
    if (debug.enabled) debug(`[${server}/${sourceName}] failed: ${String(thrown)}`);
    throw thrown;
  }
}

async function callWithHooks(run: ToolRun): Promise<RunOutput> {
  const { tool, port, config } = run;
  const { beforeToolCall, afterToolCall } = port.hooks;
  const state = stateOf(config);
  const request = { name: tool.sourceName, serverName: tool.server };
  // Before the hook, which may also modify the arguments.
  const names = beforeToolCall && Object.keys(toRecord(run.args) ?? {});
  const changes = beforeToolCall && (await beforeToolCall({ ...request, args: run.args }, state, config));
  const args = changes?.args === undefined ? run.args : { ...toRecord(run.args), ...toRecord(changes.args) };
  if (!isRecord(args))
    throw new ToolCallError({
      code: "INVALID_ARGUMENTS",
      server: tool.server,
      tool: tool.sourceName,
      what: "The arguments are not an object",
      next: "Call the tool with an object that matches its schema",
      outcome: "unsent",
      issues: [{ path: "", message: "must be an object" }],
    });
  const { own, added } = splitAdded(args, names);
  const options = optionsOf(run, args);
  if (added !== undefined) options.added = added;
  const route = changes?.headers && (await routeWith(changes.headers, run, options));
  const toolport = route?.toolport ?? port.toolport;
  const call = { toolport, name: tool.name, args: own, options, ...route };
  const result = await send(run, call);
  const output = await toOutput(run, toolport, result);
  if (result.isError) return failure(run, result, output);
  const changed = afterToolCall && (await afterToolCall({ ...request, args, result: output }, state, config));
  if (changed?.result === undefined) return output;
  return toHookOutput(changed.result, { name: run.name, toolCallId: toolCallIdOf(config), state, output });
}

type SentCall = Pick<InterruptibleCall, "toolport" | "name" | "args" | "options">;

function send({ tool, port, config }: ToolRun, call: SentCall): Promise<ToolResult> {
  const { interrupts } = port;
  if (interrupts === undefined) return call.toolport.callTool(call.name, call.args, call.options);
  // The port of a call with its own headers has a name that only this process knows.
  const isTemporaryUser = interrupts.isTemporaryUser || call.toolport !== port.toolport;
  return callInterruptibly({ ...call, tool, config, interrupts: { ...interrupts, isTemporaryUser } });
}

/**
 * Separates the arguments of the model, changed or not, from those that `beforeToolCall` added. The schema of the tool need not contain
 * the latter, as with `@langchain/mcp-adapters`.
 *
 * @param names of the model's arguments; undefined without a hook
 */
function splitAdded(
  args: Record<string, unknown>,
  names: readonly string[] | undefined,
): { own: Record<string, unknown>; added?: Record<string, unknown> } {
  if (names === undefined || Object.keys(args).every((name) => names.includes(name))) return { own: args };
  const pick = (isOwn: boolean) =>
    Object.fromEntries(Object.entries(args).filter(([name]) => names.includes(name) === isOwn));
  return { own: pick(true), added: pick(false) };
}

/** The options of a call. Only contains fields that are needed. */
function optionsOf({ tool, port, config }: ToolRun, args: Record<string, unknown>): CallToolOptions {
  const timeoutMs = timeoutOf(config);
  const meta = port.metaOf?.(tool.server);
  const options: CallToolOptions = { context: config };
  if (config.signal !== undefined) options.signal = config.signal;
  if (timeoutMs !== undefined) options.timeoutMs = timeoutMs;
  if (meta !== undefined) options.meta = meta;
  if (port.hooks.onProgress !== undefined) {
    options.onProgress = (progress) =>
      port.hooks.onProgress?.(progress, { type: "tool", name: tool.sourceName, args, server: tool.server });
  }
  return options;
}

/** The port for a call with its own headers; undefined if it uses the usual port. */
async function routeWith(
  headers: Readonly<Record<string, string>>,
  { tool, port }: ToolRun,
  options: CallToolOptions,
): Promise<Omit<SentCall, "args"> | undefined> {
  if (Object.keys(headers).length === 0) return undefined;
  const { toolport } = port;
  const transport = toolport.snapshot?.().servers[tool.server]?.transport;
  // A source without servers of its own passes the headers on.
  if (transport === "http" || toolport.snapshot === undefined)
    return { toolport, name: tool.name, options: { ...options, headers } };
  const other = await port.withHeaders?.(tool.server, headers);
  // The same tool may have another name in that port.
  const { signal } = options;
  const tools = await other?.tools({ servers: [tool.server], all: true, ...(signal && { signal }) });
  const same = tools?.find(({ sourceName }) => sourceName === tool.sourceName);
  if (other !== undefined && same !== undefined) return { toolport: other, name: same.name, options };
  throw new ToolException(
    `The connection to server "${tool.server}" (${transport}) cannot carry the headers that beforeToolCall returned`,
    { serverName: tool.server, toolName: tool.sourceName },
  );
}

const fitFacts = ({ tool, args }: ToolRun, result: ToolResult): FitFacts => ({
  tool: calledTool(tool.name, args),
  server: result.server,
  result,
});

function toOutput(run: ToolRun, toolport: ToolSource, result: ToolResult): Promise<ToolOutput> {
  const { tool, port, config } = run;
  const { server } = result;
  // With `deferTools`, a tool of Toolport may return the result of a server's tool.
  const settings = port.settingsOf(server);
  const { signal } = config;
  return toToolOutput(result, settings, {
    tool: tool.sourceName,
    fitParts: port.fitParts && ((parts) => port.fitParts!(parts, fitFacts(run, result))),
    // Undefined if the contents cannot be read or exceed the limit. Rejects only on abort.
    async readResource(uri) {
      try {
        const options = { ...(signal && { signal }), context: { tool: tool.name } };
        const contents = await toolport.readResource?.(server, uri, options);
        if (contents === undefined) return undefined;
        const bytes = contents.reduce((sum, { text, blob }) => sum + sizeOf(text, blob), 0);
        if (bytes > settings.maxResourceBytes) return undefined;
        return contents.map((resource) => ({ type: "resource", resource }));
      } catch {
        // The tool has succeeded; a missing resource must not fail the call.
        signal?.throwIfAborted();
        return undefined;
      }
    },
  });
}

function failure(run: ToolRun, result: ToolResult, [content, artifact]: ToolOutput): RunOutput {
  const { tool, port } = run;
  if (port.settingsOf(tool.server).toolErrors === "throw") {
    const said = textForModel(result, port.settingsOf(result.server).audience) || "no message";
    // The model gets the message of the exception.
    const fitted = port.fitParts?.([textPart(said)], fitFacts(run, result)) ?? [textPart(said)];
    const what = fitted.map((part) => partNote(part)).join("\n");
    throw new ToolException(
      `MCP tool '${tool.sourceName}' on server '${result.server}' returned an error: ${what}`,
      {
        serverName: result.server,
        toolName: tool.sourceName,
        content: result.content,
        structuredContent: result.structuredContent,
        meta: result._meta,
      },
    );
  }
  const tool_call_id = toolCallIdOf(run.config) ?? "";
  return [new ToolMessage({ status: "error", content, artifact, tool_call_id, name: run.name }), artifact];
}

/** Signals of LangGraph (an interrupt for a human, a command to a parent graph) are not failures. */
const isSignalOfLangGraph = (error: unknown): boolean =>
  (error as { is_bubble_up?: unknown } | null)?.is_bubble_up === true;

function toThrown(error: unknown, { tool, config, args }: ToolRun, elapsedMs: number): unknown {
  if (ToolException.isInstance(error) || isSignalOfLangGraph(error)) return error;
  const details = { serverName: tool.server, toolName: tool.sourceName };
  const { signal } = config;
  const timeoutMs = timeoutOf(config);
  if (signal?.aborted) {
    // LangChain converts `timeout` to a signal and starts its timer before ours. The caller's own signal may also be a timeout,
    // but then it fires much sooner.
    const isTimeout = (signal.reason as Error | undefined)?.name === "TimeoutError";
    if (!isTimeout || timeoutMs === undefined || elapsedMs < timeoutMs / 2) return signal.reason;
    const cause = timedOut(tool, timeoutMs, signal.reason);
    return new ToolException(cause.message, { ...details, cause });
  }
  if (error instanceof ToolCallError && error.code === "TIMEOUT") {
    const cause = timeoutMs === undefined ? error.withNext(RAISE) : timedOut(tool, timeoutMs, error);
    return new ToolException(cause.message, { ...details, cause });
  }
  if (error instanceof ToolCallError && error.code === "INVALID_ARGUMENTS") return invalidInput(error, args);
  if (ToolportError.isInstance(error)) return new ToolException(error.message, { ...details, cause: error });
  const message = error instanceof Error ? error.message : String(error);
  return new ToolException(`Error calling tool ${tool.sourceName}: ${message}`, { ...details, cause: error });
}

/**
 * LangChain's own error for invalid input. Agents check its class: with middleware around tool calls, it is the only error that
 * goes back to the model instead of ending the run.
 */
function invalidInput(cause: ToolCallError, args: unknown): ToolInputParsingException {
  const message = `Received tool input did not match expected schema\n\n${cause.message}`;
  const error = new ToolInputParsingException(message, toJson(args));
  error.cause = cause;
  // LangChain sends the stack to the model, which does not need the paths of this machine; the cause contains them.
  error.stack = `${error.name}: ${message}`;
  return error;
}

function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}

/** Advice that names the options of this API, not those of the port. */
const RAISE =
  "Raise `defaultToolTimeout` of the server or `timeout` of the call, or check what keeps the server busy";

/** The same text for the timer of LangChain and that of the port. */
function timedOut(tool: ToolInfo, timeoutMs: number, cause: unknown): ToolCallError {
  const own = cause instanceof ToolCallError ? cause : undefined;
  return new ToolCallError({
    code: "TIMEOUT",
    server: tool.server,
    tool: tool.sourceName,
    what: `The call took longer than its timeout of ${timeoutMs} ms`,
    next: RAISE,
    phase: own?.phase ?? "call",
    retryable: true,
    outcome: own?.outcome,
    cause,
  });
}

const sizeOf = (text: string | undefined, blob: string | undefined): number =>
  (text === undefined ? 0 : utf8Length(text)) + Math.floor(((blob?.length ?? 0) * 3) / 4);

/** Content and artifact, or a message or command instead of the content. */
type RunOutput = readonly [unknown, unknown];

/** The tool call. */
interface AnsweredCall {
  /** The tool's name in LangChain, as the model knows it. */
  readonly name: string;
  /** Undefined: the tool was invoked with plain arguments, so LangChain expects content, not a message. */
  readonly toolCallId: string | undefined;
  /** The state of the graph that the call belongs to. */
  readonly state: HookState;
  /** The output of the tool. */
  readonly output: RunOutput;
}

/** @throws TypeError if the return value cannot be converted */
function toHookOutput(result: ModifiedToolCallResult["result"], call: AnsweredCall): RunOutput {
  if (typeof result === "string") return [result, []];
  if (Array.isArray(result) && result.length === 2) return [result[0], result[1]];
  if (ToolMessage.isInstance(result)) {
    const { toolCallId } = call;
    return [
      toolCallId === undefined ? result.content : toAnswer(result, call.name, toolCallId),
      result.artifact,
    ];
  }
  if (isDirectToolOutput(result)) return [answeringCommand(result as GraphCommand, call), undefined];
  throw new TypeError(
    `afterToolCall of ${call.name} returned neither a text, a pair of content and artifact, a ToolMessage nor a Command`,
  );
}

/**
 * A copy, because a hook may return the same message for every call. It has no `id`: LangGraph would replace the message of
 * another call that has the same one.
 */
function toAnswer(message: ToolMessage, name: string, toolCallId: string): ToolMessage {
  const { content, artifact, metadata, additional_kwargs, response_metadata } = message;
  const status = message.status ?? "success";
  return new ToolMessage({
    content,
    artifact,
    status,
    name,
    tool_call_id: toolCallId,
    additional_kwargs,
    response_metadata,
    ...(metadata !== undefined && { metadata }),
  });
}

type Update = Record<string, unknown> | readonly (readonly [string, unknown])[] | undefined;

/**
 * Completes a command so that its messages answer the call: providers reject a conversation in which a tool call has
 * no answer. A command for another graph stays unchanged.
 */
function answeringCommand(command: GraphCommand, call: AnsweredCall): GraphCommand {
  const { graph, update } = command as { graph?: unknown; update?: Update };
  const { name, toolCallId, state, output } = call;
  if (toolCallId === undefined || graph !== undefined) return command;
  const fields: Record<string, unknown> = Array.isArray(update) ? Object.fromEntries(update) : { ...update };
  if (!("messages" in fields || Array.isArray(state["messages"]))) return command;
  const before: unknown[] = [fields["messages"] ?? []].flat();
  if (before.some((message) => idOf(message) === toolCallId)) return command;
  const first = before.findIndex((message) => ToolMessage.isInstance(message));
  const messages = [...before];
  if (first >= 0) messages[first] = toAnswer(before[first] as ToolMessage, name, toolCallId);
  else messages.unshift(toOwnAnswer(output, name, toolCallId));
  const copy = Object.assign(
    Object.create(Object.getPrototypeOf(command) as object),
    command,
  ) as GraphCommand;
  return Object.assign(copy, { update: { ...fields, messages } });
}

/** Messages may also be plain objects. */
const idOf = (message: unknown): unknown => (isRecord(message) ? message["tool_call_id"] : undefined);

const toOwnAnswer = ([content, artifact]: RunOutput, name: string, toolCallId: string): ToolMessage =>
  new ToolMessage({
    content: content as string,
    artifact,
    status: "success",
    name,
    tool_call_id: toolCallId,
  });
