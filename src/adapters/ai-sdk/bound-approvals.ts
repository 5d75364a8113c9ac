/**
 * Approvals of the AI SDK that are bound to suspended calls. The AI SDK keeps an approval in messages, which a client may send twice
 * or change. Here the call is saved when approval is requested, and the messages can only release that call, once.
 */
import { SuspensionError } from "../../errors/toolport-error.js";
import { isSuspended, type Suspended } from "../../execution/suspend/suspension.js";
import type { CallToolOptions } from "../../execution/tool-call.js";
import type { ToolResult } from "../../execution/tool-result.js";
import { sha256 } from "../../util/text.js";
import { resumeTool, type SuspendOptions, type ToolSource } from "../tool-source.js";

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

/** A call of a tool of Toolport. */
export interface BoundCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly options: CallToolOptions;
}

interface ApprovalParts {
  readonly toolport: ToolSource;
  readonly suspend: AiSdkSuspendOptions;
  /** The call that a part of a message describes; undefined if the tool is not in this set. */
  readonly callOf: (toolName: string, input: unknown, call: AiSdkCall) => BoundCall | undefined;
}

const MAX_SETTLED = 1_000;
const MAX_TRIES = 3;

export class BoundApprovals {
  readonly #parts: ApprovalParts;
  /** Ids of denied approvals that need no further work. */
  readonly #settled = new Set<string>();

  constructor(parts: ApprovalParts) {
    this.#parts = parts;
  }

  /**
   * Whether a person has to approve the call; it is saved then. If that fails, the answer is no: the execution of the call asks the
   * port's `approve` too, and reports the problem.
   */
  async isNeeded(call: AiSdkCall, { name, args, options }: BoundCall): Promise<boolean> {
    await this.settleDenied(call);
    if (isAnswered(call)) return true;
    const key = await this.keyOf(call);
    if (key === undefined) return false;
    const { toolport } = this.#parts;
    try {
      const suspend = { ...this.#limits(), key };
      return (await toolport.requestApproval?.(name, args, { ...options, suspend })) !== undefined;
    } catch {
      return false;
    }
  }

  /** The key of a call whose approval is in the messages; undefined for all other calls. */
  async approvedKey(call: AiSdkCall): Promise<string | undefined> {
    return isAnswered(call) ? this.keyOf(call) : undefined;
  }

  /** Runs the call that was saved when approval was requested. A second time, it returns the saved result. */
  async run({ name, args, options }: BoundCall, key: string): Promise<ToolResult | Suspended> {
    const { toolport } = this.#parts;
    const suspend = { ...this.#limits(), key, create: false };
    for (let tries = 1; ; tries += 1) {
      const outcome = await toolport.callTool(name, args, { ...options, suspend });
      if (!isSuspended(outcome) || outcome.reason !== "approval") return outcome;
      try {
        return await resumeTool(toolport, outcome.token, { approve: true }, options);
      } catch (error) {
        // Another process was faster: its result is saved.
        const isLost = SuspensionError.isInstance(error) && error.code === "SUSPENSION_UNKNOWN";
        if (!isLost || tries === MAX_TRIES) throw error;
      }
    }
  }

  /** Refuses the calls that were denied in the messages, for good. */
  async settleDenied({ messages, context }: AiSdkCall): Promise<void> {
    const denied = deniedCalls(messages).filter(({ approvalId }) => !this.#settled.has(approvalId));
    if (this.#settled.size > MAX_SETTLED) this.#settled.clear();
    for (const { approvalId, toolName, input, ...rest } of denied) {
      this.#settled.add(approvalId);
      const call = { ...rest, context };
      const bound = this.#parts.callOf(toolName, input, call);
      // The call may be refused already, or its approval may have expired.
      if (bound !== undefined) await this.#refuse(bound, call).catch(() => {});
    }
  }

  async #refuse({ name, args, options }: BoundCall, call: AiSdkCall): Promise<void> {
    const { toolport } = this.#parts;
    const key = await this.keyOf(call);
    if (key === undefined) return;
    const outcome = await toolport.callTool(name, args, { ...options, suspend: { key, create: false } });
    if (isSuspended(outcome) && outcome.reason === "approval")
      await resumeTool(toolport, outcome.token, { approve: false });
  }

  /** The key contains how often the conversation used the id before: some models count their calls from one in every response. */
  async keyOf(call: AiSdkCall): Promise<string | undefined> {
    const { key: given } = this.#parts.suspend;
    const conversation = typeof given === "function" ? given(call) : given;
    if (conversation === undefined || conversation === "") return undefined;
    const { toolCallId, messages } = call;
    const uses = partsOf(messages, "assistant").filter(
      (part) => part.type === "tool-call" && part.toolCallId === toolCallId,
    ).length;
    const earlier = isAnswered(call) ? uses - 1 : uses;
    return `ai-sdk ${await sha256(JSON.stringify([conversation, toolCallId, earlier]))}`;
  }

  #limits(): Omit<SuspendOptions, "key" | "create"> {
    const { key: _, ...limits } = this.#parts.suspend;
    return limits;
  }
}

interface MessagePart {
  readonly type?: string;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly input?: unknown;
  readonly approvalId?: string;
  readonly approved?: boolean;
}

interface Message {
  readonly role?: string;
  readonly content?: string | readonly MessagePart[];
}

const partsOf = (messages: readonly unknown[], role: "assistant" | "tool"): readonly MessagePart[] =>
  (messages as readonly Message[]).flatMap((message) =>
    message.role === role && Array.isArray(message.content) ? (message.content as MessagePart[]) : [],
  );

/** True if the last message contains the decision about this call: the AI SDK is about to run it, or not. */
function isAnswered({ messages, toolCallId }: AiSdkCall): boolean {
  const answers = partsOf(messages.slice(-1), "tool").filter(({ type }) => type === "tool-approval-response");
  if (answers.length === 0) return false;
  const asked = partsOf(messages, "assistant").filter(
    (part) => part.type === "tool-approval-request" && part.toolCallId === toolCallId,
  );
  return answers.some(({ approvalId }) => asked.some((request) => request.approvalId === approvalId));
}

interface DeniedCall extends AiSdkCall {
  readonly approvalId: string;
  readonly toolName: string;
  readonly input: unknown;
}

function deniedCalls(messages: readonly unknown[]): DeniedCall[] {
  return messages.flatMap((message, index) =>
    partsOf([message], "tool").flatMap(({ type, approved, approvalId }): DeniedCall[] => {
      if (type !== "tool-approval-response" || approved !== false || approvalId === undefined) return [];
      const until = messages.slice(0, index + 1);
      const before = partsOf(until, "assistant");
      const request = before.find(
        (part) => part.type === "tool-approval-request" && part.approvalId === approvalId,
      );
      const call = before.findLast(
        (part) => part.type === "tool-call" && part.toolCallId === request?.toolCallId,
      );
      if (call?.toolCallId === undefined || call.toolName === undefined) return [];
      const { toolCallId, toolName, input } = call;
      return [{ approvalId, toolCallId, toolName, input, messages: until }];
    }),
  );
}
