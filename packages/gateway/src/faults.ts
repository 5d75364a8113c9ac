/** Errors of the gateway as clients see them: JSON-RPC codes, HTTP statuses, and what may be said about a failed server. */

import {
  CatalogError,
  type Fields,
  type Outcome,
  ToolCallError,
  type ToolportError,
  toToolportError,
} from "@toolport/base";

/** Of a client: `modern` from revision 2026-07-28 on. */
export type Era = "legacy" | "modern";

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
export const HEADER_MISMATCH = -32020;
export const MISSING_CAPABILITY = -32021;
/** The client has to open a web page first; revision 2025-11-25 only. */
export const URL_REQUIRED = -32042;
/** A resource does not exist; legacy revisions only. */
const RESOURCE_NOT_FOUND = -32002;

interface FaultDetails {
  readonly data?: unknown;
  /** HTTP status of the response. @default 200 */
  readonly status?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** An error with a JSON-RPC code, sent to the client as it is. */
export class Fault extends Error {
  readonly data: unknown;
  readonly status: number;
  readonly headers: FaultDetails["headers"];

  constructor(
    readonly code: number,
    message: string,
    { data, status = 200, headers }: FaultDetails = {},
  ) {
    super(message);
    this.data = data;
    this.status = status;
    this.headers = headers;
  }
}

/** A fault as JSON, for the store and for other replicas. */
export type SavedFault = Pick<Fault, "code" | "message" | "data" | "status">;

export function saveFault(error: unknown, era: Era): SavedFault {
  const { code, message, data, status } = toFault(error, era);
  return { code, message, data, status };
}

export const restoreFault = ({ code, message, ...details }: SavedFault): Fault =>
  new Fault(code, message, details);

export const invalidParams = (message: string, data?: unknown): Fault =>
  new Fault(INVALID_PARAMS, message, { data });

/** The same for every cause, so that an attacker learns nothing. The call of a used state may have run. */
export const badState = (): Fault =>
  invalidParams("Invalid or expired requestState", {
    code: "SUSPENSION_UNKNOWN",
    retryable: false,
    outcome: "unknown",
  });
export const badCursor = (): Fault => invalidParams("Invalid cursor");
export const unknownTask = (): Fault => invalidParams("Unknown task");

/** A request that failed in the gateway itself. @param failure what programs can read */
export const internalFault = (
  message: string,
  failure: FailureData,
  more?: Pick<FaultDetails, "status" | "headers">,
): Fault => new Fault(INTERNAL_ERROR, message, { data: failure, ...more });

/** For a request that may be sent again after a second. */
export const SOON = { "retry-after": "1" } as const;

/** An answer could not be handed over to the replica that waits for it, or not be marked as used. It is safe to send it again: each is used once. */
export const storeAway = (): Fault =>
  internalFault(
    "The store of the gateway cannot be reached, so the answer may not have been delivered. Send it again",
    { code: "UNAVAILABLE", retryable: true, outcome: "unknown" },
    { status: 503, headers: SOON },
  );

/** Modern clients get a 404 for an unknown method. */
export const unknownMethod = (method: string, era: Era): Fault =>
  new Fault(METHOD_NOT_FOUND, `Method not found: ${method.slice(0, 100)}`, {
    status: era === "modern" ? 404 : 200,
  });

/** The gateway itself refuses a call: its policy does not allow it. */
export class Refusal extends ToolCallError {
  constructor(server: string, reason: string, outcome: Outcome = "unsent") {
    super({ code: "REFUSED", server, what: `The gateway refused this call: ${reason}`, outcome });
  }
}

/** What programs can read about a failure. */
export interface FailureData {
  readonly code: string;
  readonly retryable: boolean;
  readonly outcome: string;
}

const failureData = ({ code, retryable, outcome }: ToolportError): FailureData => ({
  code,
  retryable,
  outcome,
});

const NOT_THERE = new Set(["TOOL_NOT_FOUND", "PROMPT_NOT_FOUND", "RESOURCE_NOT_FOUND", "UNKNOWN_SERVER"]);

/** Codes that concern one connection: the client's request was not the cause. */
const isOfOneHop = (code: number): boolean =>
  // The capabilities of the client are passed on, so a missing one is the client's.
  code >= -32029 && code <= -32020 && code !== MISSING_CAPABILITY;

/** A failed request as a JSON-RPC error. The JSON-RPC error of a server keeps its code, message and data. */
export function toFault(error: unknown, era: Era): Fault {
  if (error instanceof Fault) return error;
  const failure = toToolportError(error);
  if (failure instanceof ToolCallError && failure.rpcCode !== undefined && !isOfOneHop(failure.rpcCode))
    return serverFault(failure, failure.rpcCode, era);
  const isMissing = failure instanceof CatalogError && NOT_THERE.has(failure.code);
  const create = isMissing || failure.code === "INVALID_ARGUMENTS" ? invalidParams : internalFault;
  return create(failure.message, failureData(failure));
}

function serverFault(failure: ToolCallError, code: number, era: Era): Fault {
  const message = failure.rpcMessage ?? failure.what;
  // Modern clients must not get the codes of earlier revisions.
  if (era === "modern" && code === RESOURCE_NOT_FOUND) return invalidParams(message, failure.data);
  const status = era === "modern" && code === MISSING_CAPABILITY ? 400 : 200;
  return new Fault(code, message, { data: failure.data, status });
}

/** Whether a failed tool call is reported as a JSON-RPC error: the server sent one, or there is no such tool. */
export const isRpcFailure = (error: unknown): boolean =>
  error instanceof Fault ||
  (error instanceof CatalogError && NOT_THERE.has(error.code)) ||
  (error instanceof ToolCallError && error.rpcCode !== undefined && !isOfOneHop(error.rpcCode));

/** Any other failed tool call is a result that the model can read. @param text in place of the message */
export function toFailedResult(error: unknown, text?: string): Fields {
  const failure = toToolportError(error);
  return failedResult(text ?? failure.message, failureData(failure));
}

export const failedResult = (text: string, failure: FailureData): Fields => ({
  content: [{ type: "text", text }],
  isError: true,
  _meta: { "toolport/error": failure },
});
