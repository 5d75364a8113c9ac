/** What other packages of this repository need of `core`, and programs do not. */
export { inspectLogin } from "./auth/inspect-login.js";
export { callbackPage, readCode } from "./auth/login-callback.js";
export { compileFilter } from "./catalog/filters.js";
export { definitionText } from "./catalog/safety/canonical-json.js";
export { withheldError } from "./catalog/safety/examine-lists.js";
export {
  CALL_TOOL_NAME,
  deferredTools,
  readSearchArguments,
  SEARCH_TOOLS_NAME,
} from "./catalog/search/deferred-tools.js";
export { ENTRY_KEYS } from "./config/entry-options.js";
export { secretsOf } from "./config/known-secrets.js";
export { checkFallback, parseServerEntry } from "./config/parse-servers.js";
export { CONNECTION_TAP, type ConnectionTap, type ServerConfig } from "./config/server-config.js";
export { partNote } from "./content/content-part.js";
export { cancelCall } from "./execution/listeners.js";
export { INPUT_META_KEY, toToolResult } from "./execution/tool-result.js";
export { missingTool } from "./port/find-tool.js";
export { readArtifactInfo } from "./port/own-tools/artifact-tool.js";
export { toOwnInfo } from "./port/own-tools/own-tools.js";
export { Port } from "./port/port.js";
export { givePort, portOf } from "./port/port-access.js";
export { sendRequest } from "./port/send-request.js";
export { readSuspendOption } from "./port/suspensions/check-answers.js";
export { Users } from "./port/users.js";
export { isModernVersion, versionsOf } from "./protocol/era.js";
export { readParamHeaders } from "./protocol/param-headers.js";
export { DeadlineClock } from "./protocol/pending-request.js";
export { completeForm } from "./protocol/server-requests/elicitation.js";
export type { Root } from "./protocol/server-requests/sampling-and-roots.js";
export { type SessionHooks, withoutProgressToken } from "./protocol/session-hooks.js";
export { createHttpClient, systemFetch } from "./transports/create-transport.js";
export { checkLoginPage } from "./transports/http/credentials/checked-provider.js";
export { SERVE_CHAIN_VARIABLE } from "./transports/stdio/spawn-environment.js";
