/** Finds the resources that clients name, and asks the policy about resources and prompts. */

import { internalFault } from "../faults.js";
import { resourceNames } from "../lists/list-entries.js";
import type { ResourceTarget } from "../lists/resource-names.js";
import type { GatewayClient } from "../message.js";
import type { PolicyRequest } from "../policy/policy.js";
import { readUri } from "../policy/resource-uri.js";
import { FailedRequest, type GatewayParts, type RequestFacts } from "../request-context.js";
import type { GatewayUser } from "../users.js";

/** What a client reads. */
type Read = Pick<PolicyRequest, "method" | "server" | "uri" | "prompt" | "args">;

/** Who reads it. */
interface ReadContext {
  readonly parts: Pick<GatewayParts, "policy">;
  readonly client: Pick<GatewayClient, "principal" | "scopes">;
}

/** For each entry of a list: whether the policy shows it to the client. */
export async function areShown(
  { parts, client }: ReadContext,
  entries: readonly Omit<PolicyRequest, "principal" | "scopes">[],
): Promise<readonly boolean[]> {
  const { principal, scopes } = client;
  if (parts.policy === undefined) return entries.map(() => true);
  const decisions = await parts.policy.decideAll(entries.map((entry) => ({ principal, scopes, ...entry })));
  return decisions.map(({ effect }) => effect !== "deny");
}

/** Why the client may not read it; undefined if it may. There is no approval for reading. */
export async function refusalOfRead({ parts, client }: ReadContext, read: Read): Promise<string | undefined> {
  if (parts.policy === undefined) return undefined;
  const { principal, scopes } = client;
  const { effect, reason } = await parts.policy.decide({ principal, scopes, ...read });
  return effect === "allow" ? undefined : (reason ?? "the policy does not allow it");
}

/** Throws if the policy does not let the client read it. */
export async function checkRead(context: ReadContext, read: Read): Promise<void> {
  const reason = await refusalOfRead(context, read);
  const { server, uri, prompt } = read;
  if (reason !== undefined) throw refusedRead(reason, { server, tool: uri ?? prompt });
}

function refusedRead(reason: string, facts: RequestFacts): FailedRequest {
  const failure = { code: "REFUSED", retryable: false, outcome: "unsent" };
  const fault = internalFault(`The gateway refused this request: ${reason}`, failure);
  return new FailedRequest(fault, { ...facts, outcome: "refused" });
}

/** Why a resource that a policy decides about cannot be read by this URI. */
export const refusalOfUri = (problem: string): string =>
  `servers may read this URI in more than one way: ${problem}. Use the URI as a list shows it, or write it in its simplest form`;

/**
 * The resource that a URI of a client leads to. With rules about resources it has the URI that the policy decides about, and that its server gets.
 *
 * @param isTemplate the URI may be a template that a server lists
 * @throws FailedRequest if servers may read the URI in more than one way, and none lists it
 */
export async function locateResource(
  { user, parts }: { user: Pick<GatewayUser, "port">; parts: Pick<GatewayParts, "readsUris"> },
  uri: string,
  { isTemplate = false, ...wait }: { isTemplate?: boolean; signal?: AbortSignal; limitMs?: number } = {},
): Promise<ResourceTarget | undefined> {
  if (!parts.readsUris()) {
    const names = await resourceNames(user.port, wait);
    return (isTemplate ? names.resolveTemplate(uri) : undefined) ?? names.find(uri);
  }
  const read = readUri(uri);
  const needsLists = isTemplate || read.uri !== uri || read.problem !== undefined;
  const names = await resourceNames(user.port, { ...wait, needsLists });
  const found = isTemplate ? names.resolveDecidedTemplate(uri) : names.findDecided(uri);
  if (found?.problem === undefined) return found;
  throw refusedRead(refusalOfUri(found.problem), { server: found.server, tool: found.uri });
}
