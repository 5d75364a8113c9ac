/** Our own request channel and the SDK's client give the same result for every kind of answer. */
import { createToolport, type Progress, type Toolport } from "toolport";
import { createTestServer, type TestServer, type TestServerDefinition } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { waitFor } from "../support/wait-for.js";

const MIB = 1024 * 1024;

/** A result in a form that both clients can produce. */
interface Comparable {
  content?: unknown;
  structuredContent?: unknown;
  isError?: boolean;
  meta?: unknown;
  rpcCode?: unknown;
  data?: unknown;
}

type Ask = (
  args: Record<string, unknown>,
  options?: { signal?: AbortSignal; onProgress?: (progress: Progress) => void },
) => Promise<Comparable>;

/** Converts a result of either client. */
const comparable = (result: {
  content?: unknown;
  structuredContent?: unknown;
  isError?: unknown;
  _meta?: unknown;
}): Comparable => ({
  content: result.content,
  structuredContent: result.structuredContent,
  isError: result.isError === true,
  meta: result._meta,
});

const throughChannel =
  (toolport: Toolport, tool: string): Ask =>
  (args, options) =>
    toolport
      .callTool(`it__${tool}`, args, options)
      .then(comparable, (error: { rpcCode?: unknown; data?: unknown }) => {
        if (options?.signal?.aborted) throw error;
        return { rpcCode: error.rpcCode, data: error.data };
      });

const throughClient =
  (toolport: Toolport, tool: string): Ask =>
  async (args, { signal, onProgress } = {}) => {
    const client = await toolport.client("it");
    const options = { ...(signal && { signal }), ...(onProgress && { onprogress: onProgress }) };
    return client
      .callTool({ name: tool, arguments: args }, options)
      .then(comparable, (error: { code?: unknown; data?: unknown }) => {
        if (signal?.aborted) throw error;
        return { rpcCode: error.code, data: error.data };
      });
  };

/** Lets the tool finish once its progress has arrived: the SDK's client drops progress that arrives with the answer. */
let arrived: () => void = () => {};
let cancelled = 0;

async function definition(): Promise<TestServerDefinition> {
  const { ProtocolError } = await import("@modelcontextprotocol/server");
  return {
    tools: {
      text: { handler: ({ text }) => String(text) },
      blocks: {
        handler: () => ({
          content: [
            { type: "text", text: "two" },
            { type: "image", data: "AAEC", mimeType: "image/png" },
            { type: "resource_link", uri: "memo://x", name: "x" },
            { type: "resource", resource: { uri: "memo://y", text: "inside" } },
          ],
          _meta: { "example.com/mine": 1 },
        }),
      },
      structured: {
        outputSchema: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
        handler: ({ a, b }) => ({ structuredContent: { sum: Number(a) + Number(b) } }),
      },
      empty: { handler: () => ({ content: [] }) },
      failing: {
        handler: () => {
          throw new Error("It broke");
        },
      },
      refusing: {
        handler: () => {
          throw new ProtocolError(-32_055, "Not today", { until: "tomorrow" });
        },
      },
      gone: { handler: () => "still here" },
      steps: {
        handler: async (_args, { progress }) => {
          const all = new Promise<void>((resolve) => {
            arrived = resolve;
          });
          await progress(1, 2, "half");
          await progress(2, 2);
          await all;
          return "done";
        },
      },
      wait: {
        handler: (_args, { signal }) =>
          new Promise((resolve) => {
            signal.addEventListener("abort", () => {
              cancelled += 1;
              resolve("too late");
            });
          }),
      },
      large: { handler: ({ bytes }) => "ø".repeat(Number(bytes) / 2) },
    },
  };
}

describe.each(["legacy", "modern"] as const)("%s era", (era) => {
  describe.each(["stdio", "http"] as const)("over %s", (way) => {
    async function both(
      tool: string,
      compare: (ways: readonly Ask[], server: TestServer) => Promise<void>,
    ): Promise<void> {
      await using server = createTestServer({ era, ...(await definition()) });
      await using toolport = createToolport({ mcpServers: { it: (await server[way]()).entry } });
      await toolport.connect();
      expect(toolport.snapshot().servers["it"]).toMatchObject({ state: "ready", era, transport: way });
      await compare([throughChannel(toolport, tool), throughClient(toolport, tool)], server);
    }

    test.each<[string, Record<string, unknown>, Comparable]>([
      [
        "text",
        { text: "héllo\u2028🔥" },
        { content: [{ type: "text", text: "héllo\u2028🔥" }], isError: false },
      ],
      ["blocks", {}, { isError: false, meta: expect.objectContaining({ "example.com/mine": 1 }) }],
      ["structured", { a: 2, b: 40 }, { structuredContent: { sum: 42 }, isError: false }],
      ["empty", {}, { content: [], isError: false }],
      ["failing", {}, { content: [{ type: "text", text: "It broke" }], isError: true }],
      ["refusing", {}, { rpcCode: -32_055, data: { until: "tomorrow" } }],
    ])("%s", async (tool, args, expected) => {
      await both(tool, async ([channel, client]) => {
        const ours = await channel!(args);
        expect(ours).toMatchObject(expected);
        expect(ours).toEqual(await client!(args));
      });
    });

    test("a tool that the server no longer has", async () => {
      await both("gone", async (ways, server) => {
        await server.update({ tools: {} });
        const [ours, theirs] = await Promise.all(ways.map((ask) => ask({})));
        expect(ours).toMatchObject({ rpcCode: -32_602 });
        expect(ours).toEqual(theirs);
      });
    });

    test("progress", async () => {
      await both("steps", async (ways) => {
        const seen: Progress[][] = [];
        for (const ask of ways) {
          const steps: Progress[] = [];
          const onProgress = ({ progress, total, message }: Progress) => {
            steps.push({ progress, total, message });
            if (steps.length === 2) arrived();
          };
          expect(await ask({}, { onProgress })).toMatchObject({ content: [{ text: "done" }] });
          seen.push(steps);
        }
        expect(seen[0]).toMatchObject([{ progress: 1, total: 2, message: "half" }, { progress: 2 }]);
        expect(seen[0]).toEqual(seen[1]);
      });
    });

    test("cancel", async () => {
      await both("wait", async (ways, server) => {
        for (const ask of ways) {
          const abort = new AbortController();
          const { length } = server.calls;
          cancelled = 0;
          const call = ask({}, { signal: abort.signal });
          await waitFor(() => server.calls.length > length);
          abort.abort(new Error("enough"));
          await expect(call).rejects.toThrow();
          await waitFor(() => cancelled === 1);
        }
      });
    });

    test("large", async () => {
      await both("large", async ([channel, client]) => {
        const args = { bytes: 4 * MIB };
        const [ours, theirs] = [await channel!(args), await client!(args)];
        const text = (answer: Comparable) => (answer.content as { text: string }[])[0]!.text;
        expect(text(ours).length).toBe(2 * MIB);
        // Not by toEqual: a difference of megabytes would take minutes to print.
        expect(text(ours) === text(theirs)).toBe(true);
      });
    });

    test("too large", async () => {
      await both("large", async ([channel, client]) => {
        const args = { bytes: 12 * MIB };
        const [ours, theirs] = await Promise.all([channel!(args), client!(args)]);
        expect(ours.content).toBeUndefined();
        // The SDK's client accepts only answers, so it gets one with the error.
        expect(theirs).toEqual({ rpcCode: -32_000, data: { toolport: "MESSAGE_TOO_LARGE" } });
      });
    });
  });
});
