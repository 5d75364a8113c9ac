/** The interface of a model for the agent loop, independent of its API. */
import type { ToolSource } from "../adapters/tool-source.js";

/** A tool call that the model requests. */
export interface RequestedCall {
  readonly name: string;
  readonly args: unknown;
}

/** A response of the model. */
export interface ModelTurn {
  readonly text: string;
  /** Empty if the model is done. */
  readonly calls: readonly RequestedCall[];
}

/** The result of a call, as sent to the model. */
export interface CallOutcome {
  readonly name: string;
  readonly text: string;
  readonly isError: boolean;
}

/** One conversation with a model about one task. */
export interface Conversation {
  /** Sends the conversation to the model, with the current tools. */
  ask(signal: AbortSignal | undefined): Promise<ModelTurn>;
  /** Runs the calls of the last turn and appends their results. */
  runCalls(signal: AbortSignal | undefined): Promise<readonly CallOutcome[]>;
}

export interface ConversationParts {
  /** The tools: those of a Toolport, or a code mode. */
  readonly toolport: ToolSource;
  readonly task: string;
  /** System prompt. */
  readonly system: string;
}

/** A language model. */
export interface Model {
  /** The provider's name of the model. */
  readonly name: string;
  /** Host of the endpoint. */
  readonly host: string;
  begin(parts: ConversationParts): Conversation;
}
