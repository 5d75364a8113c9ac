/** Converts the return value of `afterToolCall` to the result of the tool call. */
import { isDirectToolOutput, ToolMessage } from "@langchain/core/messages";
import { isRecord } from "../../util/json.js";
import type { GraphCommand, HookState, ModifiedToolCallResult } from "./client-config.js";

/** Content and artifact, or a message or command instead of the content. */
export type RunOutput = readonly [unknown, unknown];

/** The tool call. */
export interface AnsweredCall {
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
export function toHookOutput(result: ModifiedToolCallResult["result"], call: AnsweredCall): RunOutput {
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
  const given: unknown[] = [fields["messages"] ?? []].flat();
  if (given.some((message) => idOf(message) === toolCallId)) return command;
  const first = given.findIndex((message) => ToolMessage.isInstance(message));
  const messages = [...given];
  if (first >= 0) messages[first] = toAnswer(given[first] as ToolMessage, name, toolCallId);
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
