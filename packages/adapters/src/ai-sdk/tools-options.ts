/** The options of the tools for the AI SDK. */

import { ConfigError, type ToolInfo } from "@toolport/base";
import type { CallToolOptions, Progress, ToolResult } from "@toolport/core";
import type { SchemaFormOptions } from "@toolport/schemas/internal";
import type { Tool } from "ai";
import type { ContentOptions } from "../model-content.js";
import type { AllowedCallers, OfferOptions } from "../offered-tools.js";
import type { SuspendOptions } from "../tool-source.js";
import type { AiSdkVersion } from "./content.js";

/** A call of a tool, as the AI SDK describes it to `needsApproval` and `execute`. */
export interface AiSdkCall {
  readonly toolCallId: string;
  /** The messages of the conversation, in the form of the AI SDK. */
  readonly messages: readonly unknown[];
  /** `context`; before version 7 `experimental_context`. */
  readonly context?: unknown;
}

/** How calls of an AI SDK run are suspended. */
export interface AiSdkSuspendOptions extends Omit<SuspendOptions, "key" | "create"> {
  /**
   * The id of the conversation, for `needsApproval: "toolport"`: an approval is bound to it and to the id of the tool call. Some models
   * repeat the ids of their calls in every conversation, so use an id that no other conversation of the user has.
   * @default none
   * @example
   * ```ts
   * await toAiSdkTools(toolport, { needsApproval: "toolport", suspend: { key: chatId } });
   * ```
   */
  readonly key?: string | ((call: AiSdkCall) => string | undefined) | undefined;
}

/** How a model reaches deferred tools. */
export type AiSdkDeferred = (typeof AI_SDK_DEFERRED)[number];

export const AI_SDK_DEFERRED = ["own", "native", "client", "sdk"] as const;

/** Options of `toAiSdkTools()`: which tools, their schemas, their content and their calls. */
export interface AiSdkToolsOptions
  extends OfferOptions,
    SchemaFormOptions,
    ContentOptions,
    Omit<CallToolOptions, "signal" | "onProgress" | "suspend"> {
  /**
   * Which calls a person must approve first (`ai` 6 and later): those of destructive tools
   * (`"destructive"`) or of tools that are not read-only (`"writes"`), according to their annotations; all (`true`); or
   * those that you choose. Annotations come from the server: do not rely on them for servers you do not trust.
   *
   * `"toolport"`: those that the option `approve` of the port leaves to a person. Each approval then releases one saved call, once:
   * messages that are sent again, changed, or sent by another user run nothing. Requires `suspend.key`.
   * @default none
   */
  readonly needsApproval?:
    | boolean
    | "destructive"
    | "writes"
    | "toolport"
    | ((tool: ToolInfo, input: unknown) => boolean | Promise<boolean>)
    | undefined;
  /**
   * Calls that have to wait for a person (an answer, an approval, a login) are saved, and their output is a `Suspended` with a token
   * (`ai` 6 and later). End the run with `hasSuspended()`, and continue the call with `resumeMessages()`.
   * @default false
   * @example
   * ```ts
   * const tools = await toAiSdkTools(toolport, { suspend: true });
   * ```
   */
  readonly suspend?: boolean | AiSdkSuspendOptions | undefined;
  /** Return progress notifications as preliminary results. @default false */
  readonly progress?: boolean | undefined;
  /**
   * How a model reaches the tools that `deferTools` of the port hides (`ai` 6 and later):
   *
   * - `"own"`: through Toolport's `search_tools` and `call_tool`. Works with every provider.
   * - `"native"`: the search of OpenAI or Anthropic finds them. Add that search to the set yourself, from the package of the provider.
   * - `"client"`: `search_tools` of this set finds them, and Anthropic loads their definitions. For OpenAI see `toAiSdkToolSearch`.
   * - `"sdk"`: `toolSearch` of `ai` 7.0.104 or later finds them with Toolport's index and adds them to the next step. Works with every
   *   provider, but the list of tools changes, so the prompt cache may be lost.
   *
   * @default "own"
   * @example
   * ```ts
   * const toolport = createToolport({ mcpServers, deferTools: { mode: "auto" } });
   * const tools = {
   *   ...(await toAiSdkTools(toolport, { deferred: "native" })),
   *   tool_search: openai.tools.toolSearch(), // or anthropic.tools.toolSearchBm25_20251119()
   * };
   * ```
   */
  readonly deferred?: AiSdkDeferred | undefined;
  /**
   * Who may call the tools (`ai` 6 and later): the model (`"direct"`), programs at Anthropic (`"code_execution_20260120"`), programs at
   * OpenAI (`"programmatic"`, from `@ai-sdk/openai` 4 on). Each provider gets only the names that it knows. A function chooses for
   * each tool.
   * @default the provider's: the model only
   * @example
   * ```ts
   * { allowedCallers: (tool) => (tool.annotations?.readOnlyHint ? ["direct", "code_execution_20260120"] : undefined) }
   * ```
   */
  readonly allowedCallers?: AllowedCallers<string> | undefined;
  /** Images, audio and files of a result: sent to the model, or replaced by a note. @default "content" */
  readonly media?: "content" | "note" | undefined;
}

/** Throws if the options do not fit together, or need a later version. */
export function checkOptions(options: AiSdkToolsOptions, version: AiSdkVersion): void {
  const { needsApproval, suspend, deferred = "own", allowedCallers } = options;
  const isPassedOn = deferred !== "own" || allowedCallers !== undefined;
  const old = "This version of the package `ai` does not support";
  if (version === 5 && isPassedOn)
    throw invalid(
      `${old} ${deferred === "own" ? "allowedCallers" : `deferred: ${JSON.stringify(deferred)}`}`,
      'Install ai 6 or later, or use deferred: "own" without allowedCallers',
    );
  if (version === 5 && (needsApproval || suspend))
    throw invalid(
      `${old} ${needsApproval ? "approval of" : "suspending"} tool calls and would run them all`,
      "Install ai 6 or later, or use the option `approve` of createToolport",
    );
  const key = typeof suspend === "object" ? suspend.key : undefined;
  if (needsApproval === "toolport" && (key === undefined || key === ""))
    throw invalid(
      'needsApproval: "toolport" needs the id of the conversation, because models repeat the ids of their calls',
      "Pass it as suspend: { key: chatId }",
    );
}

const invalid = (what: string, next: string): ConfigError =>
  new ConfigError({ code: "INVALID_CONFIG", what, next });

/** A schema that the AI SDK accepts: zod, any other Standard Schema, or its own `jsonSchema()`. */
export type AiSdkSchema = Tool["inputSchema"];

/** Schemas by the public names of tools. */
export type AiSdkToolSchemas = Readonly<
  Record<
    string,
    {
      readonly inputSchema: AiSdkSchema;
      /** The schema of `structuredContent`; a result that does not match is an error. */
      readonly outputSchema?: AiSdkSchema;
    }
  >
>;

type Inferred<Schema> = Schema extends { readonly "~standard": { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : unknown
  : Schema extends { readonly _type: infer Output }
    ? Output
    : unknown;

type OutputOf<Entry> = Entry extends { readonly outputSchema: infer Schema } ? Inferred<Schema> : unknown;

/** The output of an execution: the result of the tool or, before it, its progress. */
export type AiSdkToolResult<Structured = unknown> = ToolResult<Structured> & {
  /** Only in preliminary results. */
  readonly progress?: Progress;
};

/** The tools with schemas, with the types of the schemas. `Waiting`: the output of a call that waits for a person. */
export type TypedAiSdkTools<Schemas extends AiSdkToolSchemas, Waiting = never> = {
  [Name in keyof Schemas]: Tool<
    Inferred<Schemas[Name]["inputSchema"]>,
    AiSdkToolResult<OutputOf<Schemas[Name]>> | Waiting
  >;
};

/** The JSON Schema of the output of an execution; contains that of the structured content. */
export const resultSchema = (
  structuredContent: Readonly<Record<string, unknown>>,
): Record<string, unknown> => ({
  type: "object",
  properties: {
    text: { type: "string" },
    content: { type: "array", items: { type: "object", properties: { type: { type: "string" } } } },
    structuredContent,
    isError: { type: "boolean" },
    server: { type: "string" },
    attempts: { type: "integer" },
    durationMs: { type: "number" },
  },
  required: ["text", "content", "isError", "server", "attempts", "durationMs"],
});
