/** Tells a client that its user has to log in to a server first, in the way the client understands. */
import { type AuthError, ToolCallError } from "../../errors/toolport-error.js";
import { type Fields, isRecord } from "../../util/json.js";
import { FAILURE_META_KEY, Fault, failureData, URL_REQUIRED } from "../faults.js";
import type { RequestContext } from "../request-context.js";
import { resultText } from "../results.js";
import { sealRound } from "./request-state.js";

/** Key of the question in `inputRequests`. */
const LOGIN = "login";

/** The call that goes on afterwards. */
interface WaitingCall {
  /** What the next round must be about, too. */
  readonly identity: unknown;
  /** A person has approved the call. */
  readonly isApproved: boolean;
}

/**
 * The result of a call that needs a login. The link leads to a page of the gateway, never to the authorization server: the page
 * proves who opens it. Throws `-32042` for clients of revision 2025-11-25. Undefined if the error has another cause.
 */
export function askForLogin(
  context: RequestContext,
  error: AuthError,
  { identity, isApproved }: WaitingCall,
): string | undefined {
  const { server } = error;
  if (error.code !== "AUTH_REQUIRED" || server === undefined) return undefined;
  const { parts, client, facts } = context;
  const url = parts.connect?.link(client.principal, server);
  facts.outcome = "waiting";
  facts.server = server;
  const message = `Log in to ${server} to use its tools`;
  if (url === undefined) {
    const missing = parts.connect?.missing ?? "Log in with `toolport auth` on the machine of the gateway";
    return resultText(client, toText(error, `${message}. ${missing}`));
  }
  const elicitation = { mode: "url", message, url, elicitationId: crypto.randomUUID() };
  if (!takesUrls(context)) return resultText(client, toText(error, `${message}: ${url}`));
  if (client.era === "legacy")
    throw new Fault({ code: URL_REQUIRED, message, data: { elicitations: [elicitation] } });
  const requestState = sealRound(context, { kind: "login", server, isApproved }, identity);
  const inputRequests = { [LOGIN]: { method: "elicitation/create", params: elicitation } };
  return resultText(client, { inputRequests, requestState }, { resultType: "input_required" });
}

/**
 * The result of a call to a legacy server that wants pages to be visited first. Undefined if the error says nothing of the kind, or
 * if the client understands the error itself.
 */
export function askForPages(
  context: RequestContext,
  error: unknown,
  { identity, isApproved }: WaitingCall,
): string | undefined {
  if (!(error instanceof ToolCallError) || error.rpcCode !== URL_REQUIRED) return undefined;
  const { client, facts } = context;
  const pages = pagesOf(error.data);
  if (pages.length === 0 || (client.era === "legacy" && takesUrls(context))) return undefined;
  facts.outcome = "waiting";
  const { server = "" } = error;
  if (!takesUrls(context))
    return resultText(
      client,
      toText(error, pages.map(({ message, url }) => `${message}: ${url}`).join("\n")),
    );
  const inputRequests = Object.fromEntries(
    pages.map((params, index) => [`${PAGE}${index + 1}`, { method: "elicitation/create", params }]),
  );
  const requestState = sealRound(context, { kind: "login", server, isApproved }, identity);
  return resultText(client, { inputRequests, requestState }, { resultType: "input_required" });
}

/** Key of a question in `inputRequests`, before its number. */
const PAGE = "page";

function pagesOf(data: unknown) {
  const given = isRecord(data) ? data["elicitations"] : undefined;
  return (Array.isArray(given) ? given : []).flatMap((page: unknown) => {
    const { message, url } = isRecord(page) ? page : {};
    if (typeof url !== "string" || typeof message !== "string") return [];
    return [{ ...(page as Fields), mode: "url", message, url }];
  });
}

function takesUrls({ client }: RequestContext): boolean {
  const { elicitation } = client.capabilities;
  const hasUrl = isRecord(elicitation) && elicitation["url"] !== undefined;
  return hasUrl && (client.era === "modern" || client.version >= "2025-11-25");
}

const toText = (error: AuthError | ToolCallError, text: string) => ({
  content: [{ type: "text", text }],
  isError: true,
  _meta: { [FAILURE_META_KEY]: failureData(error) },
});
