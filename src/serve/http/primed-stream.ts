/**
 * The first event of a stream that answers a legacy call: its id lets a client that loses the stream come back. The call ended with
 * the stream, so the client learns that its outcome is unknown instead of waiting for an answer.
 */
import type { GatewayClient } from "../client.js";
import { INTERNAL_ERROR } from "../faults.js";
import { isFields, type RequestId } from "../message.js";
import type { GatewayParts } from "../request-context.js";
import { errorText } from "../results.js";

const PURPOSE = "stream";
/** Clients of earlier revisions cannot read an event without data. */
const FIRST_VERSION = "2025-11-25";
const RETRY_MS = 1_000;

export const canBePrimed = ({ era, session, version }: GatewayClient): boolean =>
  era === "legacy" && session !== undefined && version >= FIRST_VERSION;

export function primingEvent(
  { seal, stateTtlMs }: GatewayParts,
  { session }: GatewayClient,
  id: RequestId,
): string {
  const eventId = seal.seal(PURPOSE, { k: session, r: id, exp: Date.now() + stateTtlMs });
  return `id: ${eventId}\nretry: ${RETRY_MS}\ndata: \n\n`;
}

/** The response to the request whose stream a client resumes; undefined for an id of something else. */
export function lostResponse(
  { seal }: GatewayParts,
  session: string,
  lastEventId: string | undefined,
): string | undefined {
  const opened = lastEventId === undefined ? undefined : seal.open(PURPOSE, lastEventId);
  if (!isFields(opened) || opened["k"] !== session) return undefined;
  return errorText(opened["r"], {
    code: INTERNAL_ERROR,
    message: "The connection was lost during the request, and its outcome is unknown",
    data: { code: "CLOSED", retryable: false, outcome: "unknown" },
  });
}
