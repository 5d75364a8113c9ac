/** What the pipeline knows about a call that may be suspended, and why it suspends one. */
import type { InputPause, ResumedInput } from "../../protocol/input-pause.js";

type Arguments = Readonly<Record<string, unknown>>;

/** One round of a call with `suspend`. */
export interface CallSuspension {
  /** Set as soon as a request may have been sent. */
  isSent: boolean;
  /** The arguments that a person has approved. */
  readonly approved?: Arguments | undefined;
  /** Who answered, for listeners. */
  readonly answeredBy?: string | undefined;
  /** Set to continue a call for which the server requested input. */
  readonly input?: ContinuedInput | undefined;
}

/** The next round of a call for which the server requested input. */
export interface ContinuedInput extends ResumedInput {
  /** The arguments as they were sent in the first round. */
  readonly args: Arguments;
}

/** Why a call cannot go on without a person, and what is needed to continue it. */
export type Pause =
  | {
      readonly reason: "input";
      readonly input: InputPause;
      readonly server: string;
      readonly sourceName: string;
      readonly args: Arguments;
    }
  | { readonly reason: "approval"; readonly args: Arguments }
  | { readonly reason: "login"; readonly authUrl?: string | undefined };
