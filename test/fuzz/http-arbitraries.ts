/** Arbitrary HTTP responses: statuses, types, bodies, event streams and broken connections. */
import type { ServerResponse } from "node:http";
import fc from "fast-check";
import { canonicalJson } from "../../packages/base/src/util/canonical-json.js";
import { oddText } from "./arbitraries.js";

/** Responds to a request; gets the correct messages as JSON texts. */
export type Exchange = (response: ServerResponse, texts: readonly string[]) => void;

function named(what: string, run: Exchange): Exchange {
  return Object.assign(run, { [fc.toStringMethod]: () => what });
}

const json = (response: ServerResponse, body: string, status = 200, headers = {}): void => {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
};

const events = (texts: readonly string[], prefix = ""): string =>
  texts.map((text) => `${prefix}data: ${text}\n\n`).join("");

const stream = (response: ServerResponse, body: string): void => {
  response.writeHead(200, { "content-type": "text/event-stream" }).end(body);
};

const honest: fc.Arbitrary<Exchange> = fc.constantFrom(
  named("JSON", (response, texts) => json(response, texts[0] ?? "")),
  named("events", (response, texts) => stream(response, events(texts))),
  named("events with CR, ids and comments", (response, texts) =>
    stream(response, `\ufeff: hi\r\rretry: 1\r\nid: 7\r\n${events(texts, "event: message\r\n")}`),
  ),
);

const statuses = fc
  .tuple(
    fc.constantFrom(200, 201, 202, 204, 301, 307, 400, 401, 403, 404, 405, 408, 410, 413, 429, 500, 502, 503),
    fc.constantFrom(
      "",
      "{}",
      "<html>",
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}',
    ),
    fc.dictionary(
      fc.constantFrom(
        "content-type",
        "retry-after",
        "location",
        "mcp-session-id",
        "www-authenticate",
        "content-encoding",
      ),
      fc.constantFrom(
        "application/json",
        "text/html",
        "1",
        "-1",
        "/mcp",
        "http://127.0.0.2:1/",
        "x y",
        "Bearer",
        "gzip",
        "br",
      ),
      { maxKeys: 2 },
    ),
  )
  .map(([status, body, headers]) =>
    named(`${status} ${body} ${JSON.stringify(headers)}`, (response) => {
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
    }),
  );

const broken: fc.Arbitrary<Exchange> = fc.constantFrom(
  named("reset", (response) => response.destroy()),
  named("headers, then reset", (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write("{");
    setTimeout(() => response.destroy(), 2);
  }),
  named("events, then reset", (response, texts) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`: hi\n\ndata: ${texts[0]?.slice(0, 20)}`);
    setTimeout(() => response.destroy(), 2);
  }),
  named("silence", (response) => void setTimeout(() => response.destroy(), 300)),
  named("events without an end", (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(": hi\n\n");
    setTimeout(() => response.destroy(), 300);
  }),
  named("events that end", (response) => stream(response, ": bye\n\n")),
  named("batch", (response, texts) => json(response, `[${texts.join(",")}]`)),
  named("a byte at a time", (response, texts) => drip(response, events(texts))),
  named("too long an event", (response) => stream(response, `data: ${"x".repeat(50_000)}\n\n`)),
  named("too long a body", (response) => json(response, `"${"x".repeat(50_000)}"`)),
);

function drip(response: ServerResponse, text: string): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const byte of Buffer.from(text)) response.write(Buffer.of(byte));
  response.end();
}

const garbage = fc
  .tuple(oddText, fc.constantFrom("application/json", "text/event-stream", "text/plain", ""))
  .map(([body, type]) =>
    named(`${canonicalJson(body)} as ${type}`, (response) => {
      response.writeHead(200, type === "" ? {} : { "content-type": type }).end(body);
    }),
  );

export const exchange: fc.Arbitrary<Exchange> = fc.oneof(
  { weight: 6, arbitrary: honest },
  { weight: 3, arbitrary: statuses },
  { weight: 3, arbitrary: broken },
  { weight: 1, arbitrary: garbage },
);
