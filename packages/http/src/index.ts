/** What other packages use of `http`. */
export {
  badResponse,
  parseRetryAfter,
  type Redact,
  sessionLost,
  statusError,
  tooLarge,
} from "./http-errors.js";
export { canonicalHost, isLiteralAddress, isLocalName, isLoopbackHost } from "./local-host.js";
export { MAX_REDIRECTS, redirectError, redirectTarget } from "./redirect.js";
export {
  bufferedBody,
  collectBody,
  decodeText,
  discardBody,
  isEventStream,
  mediaType,
  readShortBody,
} from "./response-body.js";
