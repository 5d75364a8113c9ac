/** Bodies of web requests: their limit holds whatever their headers say. */
import { createToolport } from "toolport";
import { createGateway } from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";

const MAX = 1_000;

async function statusOf(body: string | ReadableStream, length?: number): Promise<number> {
  await using upstream = createTestServer({ tools: {} });
  await using toolport = createToolport({ mcpServers: { one: upstream.memory() } });
  const gateway = createGateway(toolport, { auth: false, maxBodyBytes: MAX });
  const headers = {
    "content-type": "application/json",
    ...(length !== undefined && { "content-length": String(length) }),
  };
  const request = new Request("http://localhost/mcp", {
    method: "POST",
    headers,
    body,
    duplex: "half",
  } as RequestInit);
  const { status } = await gateway.fetch(request);
  await gateway.close();
  return status;
}

const ping = (chars: number) => {
  const text = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping", params: { a: "" } });
  return text.replace('"a":""', `"a":"${"é".repeat((chars - text.length) / 2)}"`);
};
const streamOf = (text: string) => new Blob([text]).stream();

const SMALL = ping(MAX);
const LARGE = ping(MAX + 2);

test.each<[string, string | ReadableStream, number | undefined, number]>([
  ["of the largest size, with its length", SMALL, MAX, 200],
  ["of the largest size, as a stream", streamOf(SMALL), undefined, 200],
  ["that is too large, with its length", LARGE, MAX + 2, 413],
  ["that is too large, as a stream", streamOf(LARGE), undefined, 413],
  ["that is longer than its header says", LARGE, 10, 413],
  ["whose length is not a number", LARGE, Number.NaN, 413],
])("a body %s", async (_, body, length, status) => {
  expect(await statusOf(body, length)).toBe(status);
});
