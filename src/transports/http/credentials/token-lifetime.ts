/** The lifetime of a token, by the `expires_in` of its response. */

type Fetch = typeof globalThis.fetch;

/** The latest time that `Date` supports. */
const MAX_TIME = 8.64e15;

/**
 * Reads `expires_in`. Some servers send 0, -1, null or words for "no limit" or "unknown". The lifetime is then unknown, and
 * the token is used until the server rejects it.
 *
 * @returns undefined if it is not a number of seconds (as a number or as text) of at least 1
 */
export function readLifetimeMs(expiresIn: unknown): number | undefined {
  const isText = typeof expiresIn === "string" && expiresIn.trim() !== "";
  if (typeof expiresIn !== "number" && !isText) return undefined;
  const ms = Number(expiresIn) * 1_000;
  return ms >= 1_000 && Date.now() + ms <= MAX_TIME ? ms : undefined;
}

/**
 * Removes an unknown lifetime from token responses. The SDK rejects a whole response with a word in `expires_in`, and reads
 * null as 0.
 */
export function dropUnknownLifetimes(fetch: Fetch): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (!response.ok || init?.method !== "POST") return response;
    const body: unknown = await response
      .clone()
      .json()
      .catch(() => undefined);
    if (typeof body !== "object" || body === null || !("expires_in" in body)) return response;
    if (readLifetimeMs(body.expires_in) !== undefined) return response;
    const { expires_in: _, ...rest } = body;
    const headers = new Headers(response.headers);
    headers.delete("content-length");
    return new Response(JSON.stringify(rest), { status: response.status, headers });
  };
}
