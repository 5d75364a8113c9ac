/** Sends requests to the console's server, with the token in a header and never in a URL. */
import type { ActionName, ActionValue, ConsoleEvent, ConsoleFailure } from "../console-api.js";

const KEPT_AS = "toolport-token";

/** Reads the token from the fragment of the URL, and removes it from the address bar. */
function readToken(): string {
  const fragment = /^#t=([\w-]+)$/.exec(location.hash)?.[1];
  if (fragment !== undefined) {
    sessionStorage.setItem(KEPT_AS, fragment);
    history.replaceState(null, "", location.pathname);
  }
  return fragment ?? sessionStorage.getItem(KEPT_AS) ?? "";
}

const token = readToken();

/** The console's server, or an MCP server, reported an error. */
export class Failure extends Error {
  readonly code: string;

  constructor(readonly detail: ConsoleFailure["error"]) {
    super(detail.message);
    this.code = detail.code;
  }
}

const post = (path: string, body: unknown, signal?: AbortSignal): Promise<Response> =>
  fetch(`/api/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: signal ?? null,
  });

/** Requests an action and returns its value. @throws Failure */
export async function ask<Name extends ActionName>(
  action: Name,
  body: object = {},
  signal?: AbortSignal,
): Promise<ActionValue<Name>> {
  let response: Response;
  try {
    response = await post(action, body, signal);
  } catch {
    throw new Failure({ code: "GONE", message: "The console does not respond. Is it still running?" });
  }
  if (!response.ok) throw toFailure(response.status, await response.text());
  const answer = (await response.json()) as { value: ActionValue<Name> } | ConsoleFailure;
  if ("error" in answer) throw new Failure(answer.error);
  return answer.value;
}

function toFailure(status: number, text: string): Failure {
  const message = status === 401 ? "The token is missing or wrong." : text.trim() || `Rejected (${status})`;
  return new Failure({ code: status === 401 ? "TOKEN" : "REFUSED", message });
}

/** State of the event stream. */
export type Link = "connecting" | "live" | "lost" | "refused";

const RETRY_MS = 1_500;

/** Receives events, and reconnects as long as the page is open. */
export async function listen(
  onEvent: (event: ConsoleEvent) => void,
  onLink: (link: Link) => void,
): Promise<void> {
  if (token === "") return onLink("refused");
  for (;;) {
    try {
      const response = await post("events", {});
      if (response.status === 401 || response.status === 403) return onLink("refused");
      if (response.ok && response.body !== null) {
        onLink("live");
        await readLines(response.body, (line) => onEvent(JSON.parse(line) as ConsoleEvent));
      }
    } catch {} // The server is unavailable: retry below.
    onLink("lost");
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function readLines(body: ReadableStream<Uint8Array>, onLine: (line: string) => void): Promise<void> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  }
}
