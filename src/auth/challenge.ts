/** What a refusal of the MCP server asks for. */

export interface Challenge {
  readonly kind: "unauthorized" | "insufficient_scope";
  readonly scope: string | undefined;
  readonly resourceMetadataUrl: URL | undefined;
}

/** Undefined if the answer has nothing to do with credentials that could be better. */
export async function readChallenge(response: Response): Promise<Challenge | undefined> {
  const { status } = response;
  if (status !== 401 && status !== 403) return undefined;
  const { extractWWWAuthenticateParams } = await import("@modelcontextprotocol/client");
  const { scope, resourceMetadataUrl, error } = extractWWWAuthenticateParams(response);
  if (status === 401) return { kind: "unauthorized", scope, resourceMetadataUrl };
  if (error !== "insufficient_scope") return undefined;
  return { kind: "insufficient_scope", scope, resourceMetadataUrl };
}

/** Lets go of an answer that nobody will read. */
export function dropAnswer(response: Response): void {
  // A body that somebody reads already cannot be cancelled, and need not be.
  if (response.body !== null && !response.body.locked) response.body.cancel().catch(() => {});
}
