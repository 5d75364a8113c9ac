/**
 * Servers of 2025-11-25 may refuse a request until the user has been to a web page: the user is asked, and the request
 * made again. Later revisions ask by `input_required`.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error
 */
import { ToolCallError } from "../../errors/tool-call-error.js";
import { withDeadline } from "../../util/with-deadline.js";
import type { Lane, LaneRequestOptions } from "../request-channel.js";
import type { RequestDesk } from "./request-responder.js";

const URL_ELICITATION_REQUIRED = -32042;
/** More pages than any user would visit for one request. */
const MAX_PAGES = 5;

/** What the request is, for whoever decides. */
export interface ElicitingRequest {
  readonly tool?: string | undefined;
  readonly options: LaneRequestOptions;
}

export interface UrlElicitations {
  /**
   * The request failed: if only because the user has to open something first, the user is asked, and it is sent again.
   * Any other error is thrown as it is.
   */
  after(error: unknown, send: () => Promise<unknown>, request: ElicitingRequest): Promise<unknown>;
}

interface Page {
  readonly elicitationId: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Must be made before the handshake. */
export function createUrlElicitations(lane: Lane, desk: RequestDesk): UrlElicitations {
  /** Told when the user has finished with a page. */
  const waiting = new Map<string, Set<() => void>>();
  lane.hearers.add((method, { elicitationId }) => {
    if (method !== "notifications/elicitation/complete") return;
    for (const done of waiting.get(elicitationId as string) ?? []) done();
  });

  return {
    async after(error, send, request) {
      const pages = readPages(error);
      if (pages === undefined) throw error;
      return await visit(pages, error as ToolCallError, send, request);
    },
  };

  async function visit(
    pages: readonly Page[],
    refusal: ToolCallError,
    send: () => Promise<unknown>,
    request: ElicitingRequest,
  ): Promise<unknown> {
    const finished = new Set<string>();
    const release = watch(pages, (id) => finished.add(id));
    try {
      for (const page of pages) await ask(page, refusal, request);
      try {
        return await send();
      } catch (error) {
        const missing = readPages(error)?.filter(({ elicitationId }) => !finished.has(elicitationId));
        const isSame = missing?.every((page) =>
          pages.some(({ elicitationId }) => elicitationId === page.elicitationId),
        );
        // Agreed to is not yet done: the server says when it is.
        if (missing === undefined || !isSame) throw error;
        await Promise.all(missing.map((page) => whenFinished(page, refusal, request)));
        return await send();
      }
    } finally {
      release();
    }
  }

  async function ask(page: Page, refusal: ToolCallError, { tool, options }: ElicitingRequest): Promise<void> {
    const signal = options.signal ?? new AbortController().signal;
    const method = "elicitation/create";
    const answer = await desk.answer({ method, params: page.params }, { tool, signal }).catch((error) => {
      if (error instanceof ToolCallError && error.code === "PROTOCOL") throw unserved(refusal);
      throw error;
    });
    if (answer["action"] !== "accept") throw declined(refusal, tool);
  }

  function watch(pages: readonly Page[], onFinished: (id: string) => void): () => void {
    const releases = pages.map(({ elicitationId: id }) => listen(id, () => onFinished(id)));
    return () => {
      for (const release of releases) release();
    };
  }

  function listen(id: string, done: () => void): () => void {
    const listeners = waiting.get(id) ?? new Set();
    waiting.set(id, listeners.add(done));
    return () => {
      listeners.delete(done);
      if (listeners.size === 0) waiting.delete(id);
    };
  }

  async function whenFinished(page: Page, refusal: ToolCallError, { options }: ElicitingRequest) {
    let release = () => {};
    const finished = new Promise<void>((resolve) => {
      release = listen(page.elicitationId, resolve);
    });
    await withDeadline(finished, {
      signal: options.signal,
      timeoutMs: Math.min(options.timeoutMs, options.maxTimeoutMs),
      onTimeout: () => refusal,
    }).finally(release);
  }
}

/** The pages a server wants opened; undefined for any other error. */
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
    next: "The user has to open a web page first: give createToolport the option `onElicitation: { url }`",
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
    what: "The server wants a web page opened first, and the user did not agree",
    next: "Ask again if the user has changed their mind",
    outcome: "unsent",
    rpcCode,
    data,
  });
}
