/** A `fetch` whose requests and responses wait until the test lets them go on. */
import { EventEmitter, once } from "node:events";

type Side = "request" | "response";

export interface HeldFetch {
  readonly fetch: typeof globalThis.fetch;
  /** From now on, requests of this method (JSON-RPC, or `GET`) wait before they are sent, or their responses before they arrive. */
  hold(side: Side, method: string): void;
  release(side: Side, method: string): void;
  /** Resolves when a response of this method waits, or has arrived. */
  reached(side: Side, method: string): Promise<void>;
}

export function heldFetch(): HeldFetch {
  const held = new Map<string, { readonly released: Promise<void>; readonly release: () => void }>();
  const news = new EventEmitter();
  const pass = async (side: Side, method: string) => {
    news.emit(`${side} ${method}`);
    await held.get(`${side} ${method}`)?.released;
  };
  return {
    async fetch(input, init) {
      const message = init?.method === "POST" ? await new Response(init.body ?? null).json() : undefined;
      const method = String((message as { method?: unknown } | undefined)?.method ?? init?.method ?? "GET");
      await pass("request", method);
      const response = await fetch(input, init);
      // Streams stay open; of other responses the whole body has arrived, so the server has made it.
      const isStream = method === "GET" || method === "subscriptions/listen";
      const body = isStream ? response.body : await response.text();
      const { status, headers } = response;
      await pass("response", method);
      return isStream ? response : new Response(status === 202 ? null : body, { status, headers });
    },
    hold(side, method) {
      let release = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      held.set(`${side} ${method}`, { released, release });
    },
    release(side, method) {
      held.get(`${side} ${method}`)?.release();
      held.delete(`${side} ${method}`);
    },
    reached: async (side, method) => void (await once(news, `${side} ${method}`)),
  };
}
