/** What the parts of one Streamable HTTP connection share. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import type { ConnectionError } from "../../errors/connection-error.js";
import type { Endpoint } from "./endpoint.js";
import type { Discard } from "./events/shared-events.js";
import type { MessageHeaders } from "./message-headers.js";
import type { Redact } from "./network/http-errors.js";
import type { OpenRequest, OpenRequests } from "./open-requests.js";

export interface EndpointContext {
  readonly endpoint: Endpoint;
  readonly messageHeaders: MessageHeaders;
  readonly requests: OpenRequests;
  readonly maxMessageBytes: number;
  /** Takes secrets out of what the server says, before it is shortened: half a secret is still a secret. */
  readonly redact: Redact;
  /** A message has come, perhaps in the response to a request. Never throws. */
  readonly onMessage: (message: JSONRPCMessage, own?: OpenRequest) => void;
  /** Something went wrong that concerns no request. */
  readonly onError: (error: Error) => void;
  readonly onDiscard: Discard;
  readonly onSessionLost: (error: ConnectionError) => void;
}
