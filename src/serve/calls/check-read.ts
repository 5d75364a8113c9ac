/** Asks the policy about resources and prompts. */

import type { GatewayClient } from "../client.js";
import { Fault, INTERNAL_ERROR } from "../faults.js";
import type { PolicyRequest } from "../policy/policy.js";
import type { GatewayParts, RequestFacts } from "../request-context.js";

/** What a client reads. */
type Read = Pick<PolicyRequest, "method" | "server" | "uri" | "prompt" | "args">;

/** Who reads it. */
interface ReadContext {
  readonly parts: Pick<GatewayParts, "policy">;
  readonly client: Pick<GatewayClient, "principal" | "scopes">;
  readonly facts: RequestFacts;
}

/** Why the client may not read it; undefined if it may. There is no approval for reading. */
export async function refusalOfRead(
  { parts, client, facts }: ReadContext,
  read: Read,
): Promise<string | undefined> {
  if (parts.policy === undefined) return undefined;
  const { principal, scopes } = client;
  const deciding = parts.policy.decide({ principal, scopes, ...read });
  const { effect, reason } = deciding instanceof Promise ? await deciding : deciding;
  if (effect === "allow") return undefined;
  facts.outcome = "refused";
  return reason ?? "the policy does not allow it";
}

/** Throws if the policy does not let the client read it. */
export async function checkRead(context: ReadContext, read: Read): Promise<void> {
  const reason = await refusalOfRead(context, read);
  if (reason === undefined) return;
  throw new Fault({
    code: INTERNAL_ERROR,
    message: `The gateway refused this request: ${reason}`,
    data: { code: "REFUSED", retryable: false, outcome: "unsent" },
  });
}
