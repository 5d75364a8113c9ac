/** What an agent's loop needs of a model, whichever API it speaks. */
import type { Toolport } from "../toolport.js";

/** A call that the model asks for. */
export interface AskedCall {
  readonly name: string;
  readonly args: unknown;
}

/** What the model said. */
export interface ModelTurn {
  readonly text: string;
  /** Empty: it is done. */
  readonly calls: readonly AskedCall[];
}

/** What the model was told about one of its calls. */
export interface CallOutcome {
  readonly name: string;
  readonly text: string;
  readonly isError: boolean;
}

/** One conversation with a model about one task. */
export interface Conversation {
  /** Asks the model, offering it the tools there are at this moment. */
  ask(signal: AbortSignal | undefined): Promise<ModelTurn>;
  /** Makes the calls of the last turn and appends what they answered. */
  answer(signal: AbortSignal | undefined): Promise<readonly CallOutcome[]>;
}

export interface ConversationParts {
  readonly toolport: Toolport;
  readonly task: string;
  /** Said before everything else. */
  readonly system: string;
}

/** A model that can be talked to. */
export interface Model {
  /** What it is called at its provider. */
  readonly name: string;
  /** Who answers: the host of the endpoint. */
  readonly host: string;
  begin(parts: ConversationParts): Conversation;
}
