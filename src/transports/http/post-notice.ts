/** What wants no answer, by POST: a notification, or an answer of ours. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import type { EndpointRequest } from "./endpoint.js";
import type { EndpointContext } from "./endpoint-context.js";
import { ownAuthorization } from "./message-fields.js";
import { discardBody } from "./network/response-body.js";
import { explainRefusal } from "./refusal.js";

/** Resolves when the server has taken it. */
export async function postNotice(
  { endpoint, fields, redact }: EndpointContext,
  message: JSONRPCMessage,
  headers: Readonly<Record<string, string>> | undefined,
): Promise<void> {
  const line = endpoint.begin();
  try {
    const request: EndpointRequest = {
      method: "POST",
      fields: fields.forMessage(message, headers),
      body: JSON.stringify(message),
      line,
      authorization: ownAuthorization(headers),
      // Calls that hold all sockets may wait for exactly this answer of ours.
      isControl: true,
    };
    const answer = await endpoint.send(request);
    if (answer.status < 200 || answer.status >= 300) await explainRefusal(answer, request, { redact });
    discardBody(answer);
  } finally {
    endpoint.over(line);
  }
}
