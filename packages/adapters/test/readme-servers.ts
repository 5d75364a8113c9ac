/** Local stand-ins for the servers that the README of `@langchain/mcp-adapters` names. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { createTestServer } from "toolport/testing";

const number = (name: string) => ({
  type: "object",
  properties: { a: { type: "number" }, b: { type: "number" } },
  required: ["a", "b"],
  title: name,
});

export const mathTools = {
  calculate: { handler: ({ expression }: Record<string, unknown>) => `= ${expression}` },
  add: {
    inputSchema: number("add"),
    handler: ({ a, b }: Record<string, unknown>) => String(Number(a) + Number(b)),
  },
  multiply: {
    inputSchema: number("multiply"),
    handler: ({ a, b }: Record<string, unknown>) => String(Number(a) * Number(b)),
  },
};
export const dataTools = {
  process_large_dataset: { handler: ({ dataset }: Record<string, unknown>) => `processed ${dataset}` },
  lookup: { handler: ({ query }: Record<string, unknown>) => `found ${query}` },
  normal: { handler: ({ input }: Record<string, unknown>) => `did ${input}` },
};

/** Notifications that a server can send during a call. */
export const everythingTools: NonNullable<Parameters<typeof createTestServer>[0]["tools"]> = {
  longRunningOperation: {
    handler: async (_args, { progress, request }) => {
      await request.mcpReq.log("info", "half done", "operation");
      await progress(1, 4);
      return "done";
    },
  },
};

/** A URL without a listener. */
export async function closedUrl(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}/mcp`;
}
