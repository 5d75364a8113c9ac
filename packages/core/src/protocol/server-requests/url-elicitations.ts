/**
 * Handles the error of 2025-11-25 by which a server demands that the user opens a web page first: asks the user and repeats
 * the request. Later revisions use `input_required` instead.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error
 */
import { ToolCallError, withDeadline } from "@toolport/base";
import { type SuspendableRequest, toPausedRaw } from "../input-rounds.js";
import type { ChannelRequestOptions, RequestChannel } from "../request-channel.js";
import { declinedUrl, type ElicitationRequest, readElicitation } from "./elicitation.js";
import type { RequestResponder } from "./request-responder.js";

const URL_ELICITATION_REQUIRED = -32042;
/** Errors with more pages are not handled: no user would visit them for one request. */
const MAX_PAGES = 5;

export interface ElicitingRequest {
  readonly tool?: string | undefined;
  readonly options: ChannelRequestOptions;
  /** Set if the request may be suspended instead of asking the user now. */
  readonly suspendable?: SuspendableRequest | undefined;
}

/**
 * Handles the failure of a request. If the server demands a web page, asks the user and sends the request again; throws any other
 * error unchanged. A suspendable request ends with the mark of {@link toPausedRaw}.
 */
export type UrlElicitations = (
  error: unknown,
  send: () => Promise<unknown>,
  request: ElicitingRequest,
) => Promise<unknown>;

interface Page {
  readonly elicitationId: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Must be called before the handshake, so that no notification is missed. */
export function createUrlElicitations(channel: RequestChannel, responder: RequestResponder): UrlElicitations {
  /** Called when the server reports that the user has finished with a page. */
  const waiting = new Map<string, Set<() => void>>();
  channel.notificationListeners.add((method, { elicitationId }) => {
    if (method !== "notifications/elicitation/complete") return;
    for (const done of waiting.get(elicitationId as string) ?? []) done();
  });

  return async (error, send, request) => {
    const pages = readPages(error);
    if (pages === undefined) throw error;
    if (request.suspendable !== undefined) return suspend(pages, error as ToolCallError, request);
    return await visit(pages, error as ToolCallError, send, request);
  };

  async function visit(
    pages: readonly Page[],
    required: ToolCallError,
    send: () => Promise<unknown>,
    request: ElicitingRequest,
  ): Promise<unknown> {
    const finished = new Set<string>();
    const releases = pages.map(({ elicitationId: id }) => listen(id, () => finished.add(id)));
    try {
      for (const page of pages) await ask(page, required, request);
      try {
        return await send();
      } catch (error) {
        const missing = readPages(error)?.filter(({ elicitationId }) => !finished.has(elicitationId));
        const isSame = missing?.every((page) =>
          pages.some(({ elicitationId }) => elicitationId === page.elicitationId),
        );
        // The user agreed but has not finished: wait for the notification of the server.
        if (missing === undefined || !isSame) throw error;
        await Promise.all(missing.map((page) => whenFinished(page, required, request)));
        return await send();
      }
    } finally {
      for (const release of releases) release();
    }
  }

  async function ask(
    page: Page,
    required: ToolCallError,
    { tool, options }: ElicitingRequest,
  ): Promise<void> {
    const signal = options.signal ?? new AbortController().signal;
    const method = "elicitation/create";
    const answer = await responder
      .respond({ method, params: page.params }, { tool, signal })
      .catch((error) => {
        if (error instanceof ToolCallError && error.code === "PROTOCOL") throw unserved(required);
        throw error;
      });
    if (answer["action"] !== "accept") throw declined(required, tool);
  }

  function listen(id: string, done: () => void): () => void {
    const listeners = waiting.get(id) ?? new Set();
    waiting.set(id, listeners.add(done));
    return () => {
      listeners.delete(done);
      if (listeners.size === 0) waiting.delete(id);
    };
  }

  async function whenFinished(page: Page, required: ToolCallError, { options }: ElicitingRequest) {
    let release = () => {};
    const finished = new Promise<void>((resolve) => {
      release = listen(page.elicitationId, resolve);
    });
    await withDeadline(finished, {
      signal: options.signal,
      timeoutMs: Math.min(options.timeoutMs, options.maxTimeoutMs),
      onTimeout: () => required,
    }).finally(release);
  }
}

/** The request is repeated, by any process, when the user has visited the pages. */
function suspend(
  pages: readonly Page[],
  required: ToolCallError,
  { tool, suspendable }: ElicitingRequest,
): Record<string, unknown> {
  const where = { server: required.server ?? "", tool };
  const requests: Record<string, ElicitationRequest> = {};
  for (const { elicitationId, params } of pages) {
    const read = readElicitation(params, where);
    if (read.mode === "blocked-url") {
      suspendable?.report(declinedUrl(read.why, where));
      throw declined(required, tool);
    }
    requests[elicitationId] = read;
  }
  const round = (suspendable?.resumed?.round ?? 0) + 1;
  return toPausedRaw({ requests, responses: {}, round, by: "repetition" });
}

/** The pages that the server demands; undefined for any other error. */
function readPages(error: unknown): Page[] | undefined {
  if (!(error instanceof ToolCallError) || error.rpcCode !== URL_ELICITATION_REQUIRED) return undefined;
  const { elicitations } = (error.data ?? {}) as { elicitations?: unknown };
  if (!Array.isArray(elicitations) || elicitations.length === 0 || elicitations.length > MAX_PAGES)
    return undefined;
  const pages = elicitations.flatMap((params: unknown): Page[] => {
    const { elicitationId, url } = (params ?? {}) as { elicitationId?: unknown; url?: unknown };
    if (typeof elicitationId !== "string" || typeof url !== "string") return [];
    return [{ elicitationId, params: { message: "", ...(params as object), mode: "url" } }];
  });
  return pages.length === elicitations.length ? pages : undefined;
}

function unserved({ server, tool, rpcCode, data, what }: ToolCallError): ToolCallError {
  return new ToolCallError({
    code: "PROTOCOL",
    server,
    tool,
    what,
    next: "The user must open a web page first: set the option `onElicitation: { url }` of createToolport",
    outcome: "unsent",
    rpcCode,
    data,
  });
}

function declined({ server, rpcCode, data }: ToolCallError, tool: string | undefined): ToolCallError {
  return new ToolCallError({
    code: "REFUSED",
    server,
    tool,
    what: "The server demands that the user opens a web page first, and the user declined",
    next: "Call again if the user changes their mind",
    outcome: "unsent",
    rpcCode,
    data,
  });
}
