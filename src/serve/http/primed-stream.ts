/**
 * The first event of a stream that answers a legacy call: its id lets a client that loses the stream come back. The call ended with
 * the stream, so the client learns that its outcome is unknown instead of waiting for an answer.
 */
import type { GatewayClient } from "../client.js";
import { INTERNAL_ERROR } from "../faults.js";
import type { RequestId } from "../message.js";
import { isPast, type Seal } from "../replicas/seal.js";
import type { GatewayParts } from "../request-context.js";
import { errorText } from "../results.js";

const PURPOSE = "stream";
/** Clients of earlier revisions cannot read an event without data. */
const FIRST_VERSION = "2025-11-25";
const RETRY_MS = 1_000;

export const canBePrimed = ({ era, session, version }: GatewayClient): boolean =>
  era === "legacy" && session !== undefined && version >= FIRST_VERSION;

/**
 * The client knows its own request id, so the id of the event is signed and not encrypted, which takes a tenth of the time:
 * `<expiry>.<request id>.<hash>`.
 */
export function primingEvent(
  { seal, stateTtlMs }: Pick<GatewayParts, "seal" | "stateTtlMs">,
  session: string,
  id: RequestId,
): string {
  const named = `${Date.now() + stateTtlMs}.${Buffer.from(JSON.stringify(id)).toString("base64url")}`;
  return `id: ${named}.${signatureOf(seal, session, named)}\nretry: ${RETRY_MS}\ndata: \n\n`;
}

/** Line breaks separate the parts: neither has one. */
const signatureOf = (seal: Pick<Seal, "mac">, session: string, named: string, like?: string): string =>
  seal.mac(PURPOSE, `${session}\n${named}`, like);

const EVENT_ID = /^((\d{1,16})\.([\w-]+))\.([\w-]+\.[\w-]+)$/;

/** The response to the request whose stream a client resumes; undefined for an id of something else. */
export function lostResponse(
  { seal }: Pick<GatewayParts, "seal">,
  session: string,
  lastEventId: string | undefined,
): string | undefined {
  const [, named, expiry, id, signature] = EVENT_ID.exec(lastEventId ?? "") ?? [];
  if (named === undefined || isPast(Number(expiry))) return undefined;
  // A client that tries signatures has the session already, and could only send a wrong answer to itself.
  if (signatureOf(seal, session, named, signature) !== signature) return undefined;
  return errorText(JSON.parse(Buffer.from(id!, "base64url").toString()), {
    code: INTERNAL_ERROR,
    message: "The connection was lost during the request, and its outcome is unknown",
    data: { code: "CLOSED", retryable: false, outcome: "unknown" },
  });
}
