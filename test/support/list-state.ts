/**
 * The states of one list of one server for one user, without requests and time: whether the list is known, and whether it
 * has to be read.
 *
 * Three words have one meaning each:
 * - *changed*: the server reported a change since the read of the list began, or a change may have been missed since then.
 * - *shared*: the list was read for another user.
 * - *fresh*: the list is known, has not changed, and its time to live has not passed. Only other lists are read.
 *
 * A list contains every change if its read began after the server acknowledged that it reports changes: later ones are reported,
 * and the list contains the earlier ones. It does not matter when the response arrives, because the server may have made the
 * list long before.
 */

export interface ListState {
  readonly known: "no" | "own" | "shared";
  readonly changed: boolean;
  /** The time to live has passed. */
  readonly expired: boolean;
  /** `changed`: the list has changed since the read under way began. */
  readonly reading: "no" | "yes" | "changed";
  /** The server reports changes now. */
  readonly reported: boolean;
  /** The stream of reports has ended since the list was read or adopted. */
  readonly interrupted: boolean;
  /** Failed reads since the last event that made the list due. */
  readonly failures: number;
  readonly closed: boolean;
}

export type ListEvent =
  /** A request for the list is about to be sent. */
  | { readonly type: "readBegun" | "readAnswered" | "readFailed" }
  /** The server reported a change. */
  | { readonly type: "changeReported" }
  /** The server acknowledged that it reports changes from now on. */
  | { readonly type: "listeningBegun" }
  /** The stream of reports has ended. */
  | { readonly type: "listeningEnded" }
  /** The connection was lost or closed. A read under way has no result. */
  | { readonly type: "disconnected" }
  /** A change may have been missed, or a caller wants the list to be read again. */
  | { readonly type: "changeMissed" }
  /** The time to live, or the age that a caller accepts, has passed. */
  | { readonly type: "expired" }
  /** A list is offered that was read for another user. `isLater`: after the last event that made this list changed. */
  | { readonly type: "offered"; readonly isLater: boolean }
  /** Users no longer get the shared list that this user has. */
  | { readonly type: "sharedReplaced" }
  /** A caller needs the list. */
  | { readonly type: "needed" }
  | { readonly type: "closed" };

export const UNKNOWN_LIST: ListState = {
  known: "no",
  changed: false,
  expired: false,
  reading: "no",
  reported: false,
  interrupted: false,
  failures: 0,
  closed: false,
};

/** A list that keeps failing is read this many times more. Then the next event makes it due again. */
export const MAX_REPEATED_READS = 5;

/** True if the list can be used as it is. */
export const isFresh = ({ known, changed, expired }: ListState): boolean =>
  known !== "no" && !changed && !expired;

/** True if a read has to begin: at once if lists are read on connect, with the next need otherwise. One read at a time. */
export const isDue = (state: ListState): boolean =>
  !isFresh(state) && state.reading === "no" && state.failures <= MAX_REPEATED_READS && !state.closed;

/** The state after an event. */
export function step(state: ListState, event: ListEvent): ListState {
  if (state.closed) return state;
  switch (event.type) {
    case "readBegun":
      return { ...state, reading: "yes" };
    case "readAnswered":
      if (state.reading === "no") return state;
      return {
        ...state,
        known: "own",
        changed: state.reading === "changed",
        expired: false,
        reading: "no",
        interrupted: false,
      };
    case "readFailed":
      if (state.reading === "no") return state;
      return { ...state, reading: "no", failures: state.failures + 1 };
    case "changeReported":
    case "changeMissed":
      return asChanged(state);
    case "listeningBegun": {
      // One stream may follow another without a gap.
      if (state.reported) return state;
      const next = { ...state, reported: true };
      // The server allows the use of a shared list for some time, so it may be older than the stream, once.
      const isAllowed = state.known === "shared" && !state.interrupted;
      return isAllowed ? readingChanged(next) : asChanged(next);
    }
    case "listeningEnded":
      return { ...state, reported: false, interrupted: true };
    case "disconnected":
      return { ...state, reported: false, interrupted: true, reading: "no" };
    case "expired":
      return state.known === "no" ? state : { ...state, expired: true, failures: 0 };
    case "offered":
      if (isFresh(state) || state.reading !== "no" || (state.changed && !event.isLater)) return state;
      return { ...state, known: "shared", changed: false, expired: false, interrupted: false };
    case "sharedReplaced":
      return state.known === "shared" ? asChanged(state) : state;
    case "needed":
      return { ...state, failures: 0 };
    case "closed":
      return { ...state, reading: "no", closed: true };
  }
}

/** What is known, and what is being read, may lack a change. */
function asChanged(state: ListState): ListState {
  const changed = state.known !== "no";
  return { ...readingChanged(state), changed, failures: 0 };
}

function readingChanged(state: ListState): ListState {
  return state.reading === "no" ? state : { ...state, reading: "changed", failures: 0 };
}
