/** Tells a client that its user has to log in to a server first, in the way the client understands. */
import { type AuthError, type Fields, isRecord, ToolCallError, type ToolportError } from "@toolport/base";
import { Fault, toFailedResult, URL_REQUIRED } from "../faults.js";
import { FailedRequest, type Handled, type RequestContext, type RequestFacts } from "../request-context.js";
import { resultText } from "../results.js";
import { askInResult, type NextRound } from "./request-state.js";

/** Key of the question in `inputRequests`. */
const LOGIN = "login";

/** The call that goes on afterwards. */
export interface WaitingCall {
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
  call: WaitingCall,
): Handled | undefined {
  const { server } = error;
  if (error.code !== "AUTH_REQUIRED" || server === undefined) return undefined;
  const { parts, client } = context;
  const url = parts.connect?.link(client.principal, server);
  const facts: RequestFacts = { outcome: "waiting", server };
  const message = `Log in to ${server} to use its tools`;
  if (url === undefined) {
    const missing = parts.connect?.missing ?? "Log in with `toolport auth` on the machine of the gateway";
    return inText(context, error, `${message}. ${missing}`, facts);
  }
  const page: Page = { mode: "url", message, url, elicitationId: crypto.randomUUID() };
  if (client.era === "legacy" && takesUrls(context))
    throw new FailedRequest(new Fault(URL_REQUIRED, message, { data: { elicitations: [page] } }), facts);
  return showPages(context, error, call, { [LOGIN]: page }, facts);
}

/**
 * The result of a call to a legacy server that wants pages to be visited first. Undefined if the error says nothing of the kind, or
 * if the client understands the error itself.
 */
export function askForPages(context: RequestContext, error: unknown, call: WaitingCall): Handled | undefined {
  if (!(error instanceof ToolCallError) || error.rpcCode !== URL_REQUIRED) return undefined;
  const pages = pagesOf(error.data);
  if (pages.length === 0 || (context.client.era === "legacy" && takesUrls(context))) return undefined;
  const named = Object.fromEntries(pages.map((page, index) => [`page${index + 1}`, page]));
  return showPages(context, error, call, named, { outcome: "waiting" });
}

/** Asks the client to show the pages. One that cannot do that gets their addresses as text. */
function showPages(
  context: RequestContext,
  error: ToolportError,
  { identity, isApproved }: WaitingCall,
  pages: Readonly<Record<string, Page>>,
  facts: RequestFacts,
): Handled {
  if (!takesUrls(context)) {
    const links = Object.values(pages).map(({ message, url }) => `${message}: ${url}`);
    return inText(context, error, links.join("\n"), facts);
  }
  const inputRequests = Object.fromEntries(
    Object.entries(pages).map(([key, params]) => [key, { method: "elicitation/create", params }]),
  );
  const round: NextRound = { kind: "login", server: error.server ?? "", isApproved };
  return { json: askInResult(context, round, identity, { inputRequests }).json, facts };
}

interface Page extends Fields {
  readonly message: string;
  readonly url: string;
}

function pagesOf(data: unknown): Page[] {
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

function inText(
  { client }: RequestContext,
  error: ToolportError,
  text: string,
  facts: RequestFacts,
): Handled {
  return { json: resultText(client, toFailedResult(error, text)), facts };
}
