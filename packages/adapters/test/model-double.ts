/** A local double of the providers' APIs with scripted responses. It records requests as sent. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { LLMock } from "@copilotkit/aimock";

export interface ScriptedCall {
  readonly name: string;
  readonly args: unknown;
}

/** One turn of the model: calls, or the final text. */
export type ScriptedTurn = readonly ScriptedCall[] | string;

// biome-ignore lint/suspicious/noExplicitAny: bodies of four APIs, checked by the rules of each
export type RequestBody = any;

export interface ModelDouble extends AsyncDisposable {
  readonly url: string;
  /** The bodies of all requests, in order. */
  readonly requests: readonly RequestBody[];
}

/** A turn that depends on the request. */
export type LiveTurn = (request: RequestBody) => ScriptedTurn;

/** Returns the turns in order, for any request in any API. */
export async function startModelDouble(turns: readonly (ScriptedTurn | LiveTurn)[]): Promise<ModelDouble> {
  const mock = new LLMock({ port: 0 });
  const requests: RequestBody[] = [];
  let next = 0;
  mock.on({ predicate: () => true }, () => {
    const given = turns[next++] ?? "The script is over";
    const turn = typeof given === "function" ? given(requests.at(-1)) : given;
    if (typeof turn === "string") return { content: turn };
    return {
      toolCalls: turn.map(({ name, args }) => ({
        name,
        arguments: typeof args === "string" ? args : JSON.stringify(args),
      })),
    };
  });
  await mock.start();
  // The journal of the double has one form for all APIs, but the rules apply to the requests on the wire.
  const proxy = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    requests.push(JSON.parse(body));
    const headers = { "content-type": "application/json", "x-api-key": "test", authorization: "Bearer test" };
    const answer = await fetch(mock.url + request.url, { method: "POST", headers, body });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" });
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
      await mock.stop();
    },
  };
}
