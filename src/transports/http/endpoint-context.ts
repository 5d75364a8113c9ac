/** What the parts of one Streamable HTTP connection share. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import type { ConnectionError } from "../../errors/connection-error.js";
import type { StreamState } from "../server-transport.js";
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
  /** Redacts secrets in text from the server. Call it before shortening the text: half a secret is still a secret. */
  readonly redact: Redact;
  /** Called for every message; `own` is the request in whose response it arrived. Never throws. */
  readonly onMessage: (message: JSONRPCMessage, own?: OpenRequest) => void;
  /** Called for errors that concern no request. */
  readonly onError: (error: Error) => void;
  readonly onDiscard: Discard;
  readonly onStream: (state: StreamState) => void;
  readonly onSessionLost: (error: ConnectionError) => void;
}
