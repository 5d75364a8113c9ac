/** `resources/subscribe` and `resources/unsubscribe` of a legacy client. */
import { checkRead, locateResource } from "../calls/check-read.js";
import { invalidParams } from "../faults.js";
import type { RequestContext } from "../request-context.js";
import { resultText } from "../results.js";

const MAX_SUBSCRIPTIONS = 1_000;
/** Of all URIs of a session together, because every replica keeps them. */
const MAX_CHARS = 256 * 1024;

/** The stream of the client, here or on another replica, watches what the session names. */
export async function subscribe(context: RequestContext, isWanted: boolean): Promise<string> {
  const { request, client, parts } = context;
  const { uri } = request.params;
  if (typeof uri !== "string") throw invalidParams("The URI of the resource is missing");
  if (isWanted && parts.policy !== undefined) await checkSubscription(context, uri);
  if (client.session === undefined) return resultText(client, {});
  const { subscriptions = [] } = parts.sessions.stateOf(client.session);
  const others = subscriptions.filter((each) => each !== uri);
  const chars = others.reduce((sum, each) => sum + each.length, uri.length);
  if (isWanted && (others.length >= MAX_SUBSCRIPTIONS || chars > MAX_CHARS))
    throw invalidParams("Too many subscriptions");
  await parts.sessions.update(client.session, { subscriptions: isWanted ? [...others, uri] : others });
  return resultText(client, {});
}

/** Throws if the client may not read the resource. The stream decides later about one that is not known yet. */
async function checkSubscription(context: RequestContext, uri: string): Promise<void> {
  const { exchange, facts } = context;
  const target = await locateResource(context, uri, { signal: exchange.signal });
  if (target === undefined) return;
  facts.server = target.server;
  facts.tool = target.uri;
  await checkRead(context, { method: "resources/read", ...target });
}
