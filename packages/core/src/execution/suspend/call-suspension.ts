/** What the pipeline knows about a call that may be suspended, and why it suspends one. */
import type { InputPause, ResumedInput } from "../../protocol/input-rounds.js";

type Arguments = Readonly<Record<string, unknown>>;

/** What a call may wait for: answers of the user, an approval, or a login. */
export type SuspendReason = "input" | "approval" | "login";

/** One round of a call with `suspend`. */
export interface CallSuspension {
  /** What the call may be suspended for; undefined: anything. */
  readonly reasons?: readonly SuspendReason[] | undefined;
  /**
   * Called with `"sending"` before a request may be sent, and with `"begun"` when the server has begun a task or received its input: a
   * later request that is not sent does not change that.
   */
  readonly onStage?: ((stage: "sending" | "begun") => void) | undefined;
  /** Ask `approve` only, and send nothing. */
  readonly isApprovalOnly?: boolean | undefined;
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

/** False without `suspend`, and if the call is not to be suspended for this reason. */
export const suspendsFor = (
  suspension: CallSuspension | undefined,
  reason: SuspendReason,
): suspension is CallSuspension => suspension !== undefined && (suspension.reasons?.includes(reason) ?? true);

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
