/** Responses to HTTP requests that are not served. */
import { Fault, INVALID_REQUEST } from "../faults.js";
import type { RequestId } from "../message.js";
import { errorText } from "../results.js";
import type { Headers, HttpReply } from "./http-request.js";

const JSON_HEADERS = { "content-type": "application/json" } as const;

/** A request that could not be served at all has another status than 200. */
export function sendFault(
  reply: HttpReply,
  fault: Fault,
  { id, headers }: { id: RequestId | null; headers: Headers },
): void {
  const status = fault.status === 200 ? 400 : fault.status;
  reply.send(status, { ...headers, ...JSON_HEADERS, ...fault.headers }, errorText(id, fault));
}

export function refuse(reply: HttpReply, status: number, message: string, headers: Headers = {}): void {
  reply.send(status, { ...headers, ...JSON_HEADERS }, errorText(null, { code: -32000, message }));
}

export const bodyTooSlow = (timeoutMs: number): Fault =>
  new Fault({
    code: INVALID_REQUEST,
    message: `The body did not arrive within ${timeoutMs} ms`,
    status: 408,
  });

export const bodyTooLarge = (maxBytes: number, headers?: Headers): Fault =>
  new Fault({
    code: INVALID_REQUEST,
    message: `The body is larger than ${maxBytes} bytes`,
    status: 413,
    headers,
  });
