/** Precedence of timeouts: of the call, of the server, of the client; and aborts by the caller. */
import type { DynamicStructuredTool } from "@langchain/core/tools";
import { type ClientConfig, MultiServerMCPClient, ToolException } from "toolport/langchain";
import { createTestServer } from "toolport/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failure } from "../../../test/support/failure.js";

const LONG = 30_000;
const SHORT = 150;

const server = createTestServer({
  era: "legacy",
  tools: {
    /** Takes `ms`, and reports progress on request. */
    work: {
      handler: async ({ ms, steps = 1 }, { signal, progress }) => {
        for (let step = 1; step <= Number(steps) && !signal.aborted; step += 1) {
          await new Promise<void>((resolve) => {
            const timer = setTimeout(resolve, Number(ms) / Number(steps));
            signal.addEventListener("abort", () => {
              clearTimeout(timer);
              resolve();
            });
          });
          await progress(step);
        }
        return "done";
      },
    },
  },
});
let url = "";

beforeAll(async () => {
  url = (await server.http()).url;
});
afterAll(() => server.close());

async function withTool(
  config: Omit<ClientConfig, "mcpServers">,
  own: { defaultToolTimeout?: number },
  run: (tool: DynamicStructuredTool) => Promise<void>,
): Promise<void> {
  await using client = new MultiServerMCPClient({ ...config, mcpServers: { app: { url, ...own } } });
  const [tool] = await client.getTools();
  await run(tool!);
}

async function expectTimeout(call: Promise<unknown>, ms: number): Promise<void> {
  const error = await failure<ToolException>(call);
  expect(error).toBeInstanceOf(ToolException);
  expect(error.cause).toMatchObject({ code: "TIMEOUT", server: "app", tool: "work" });
  expect(error.message).toBe(
    `[app/work] The call took longer than its timeout of ${ms} ms. Raise \`defaultToolTimeout\` of the server or \`timeout\` of the call, or check what keeps the server busy. (TIMEOUT)`,
  );
}

describe("a timeout", () => {
  it("at the top level applies by default", async () => {
    await withTool({ defaultToolTimeout: SHORT }, {}, (tool) =>
      expectTimeout(tool.invoke({ ms: LONG }), SHORT),
    );
  });

  it("of the server overrides the top level, shorter or longer", async () => {
    await withTool({ defaultToolTimeout: LONG }, { defaultToolTimeout: SHORT }, (tool) =>
      expectTimeout(tool.invoke({ ms: LONG }), SHORT),
    );
    await withTool({ defaultToolTimeout: 50 }, { defaultToolTimeout: LONG }, async (tool) => {
      expect(await tool.invoke({ ms: 200 })).toBe("done");
    });
  });

  it("of withConfig overrides both, shorter or longer", async () => {
    await withTool({ defaultToolTimeout: LONG }, { defaultToolTimeout: LONG }, (tool) =>
      expectTimeout(tool.withConfig({ timeout: SHORT }).invoke({ ms: LONG }), SHORT),
    );
    await withTool({ defaultToolTimeout: 50 }, { defaultToolTimeout: 50 }, async (tool) => {
      expect(await tool.withConfig({ timeout: LONG }).invoke({ ms: 200 })).toBe("done");
    });
  });

  it("of invoke overrides both, shorter or longer", async () => {
    await withTool({ defaultToolTimeout: LONG }, {}, (tool) =>
      expectTimeout(tool.invoke({ ms: LONG }, { timeout: SHORT }), SHORT),
    );
    await withTool({ defaultToolTimeout: 50 }, { defaultToolTimeout: 50 }, async (tool) => {
      expect(await tool.invoke({ ms: 200 }, { timeout: LONG })).toBe("done");
    });
  });

  it("is total: progress does not extend it", async () => {
    await withTool({}, {}, (tool) =>
      expectTimeout(tool.invoke({ ms: LONG, steps: 1_000 }, { timeout: SHORT }), SHORT),
    );
    await withTool({ defaultToolTimeout: SHORT }, {}, (tool) =>
      expectTimeout(tool.invoke({ ms: LONG, steps: 1_000 }), SHORT),
    );
  });

  it("of zero counts as unset, for the server and for all", async () => {
    await withTool({ defaultToolTimeout: 0 }, { defaultToolTimeout: 0 }, async (tool) => {
      expect(await tool.invoke({ ms: 100 })).toBe("done");
    });
    await withTool({ defaultToolTimeout: SHORT }, { defaultToolTimeout: 0 }, (tool) =>
      expectTimeout(tool.invoke({ ms: LONG }), SHORT),
    );
  });

  it("still applies if the agent's run has a longer one", async () => {
    await withTool({ defaultToolTimeout: SHORT }, {}, (tool) =>
      expectTimeout(tool.invoke({ ms: LONG }, { metadata: { timeoutMs: LONG } }), SHORT),
    );
  });
});

describe("the limits of the port", () => {
  it("name the options of this API in their errors", async () => {
    await withTool({ toolport: { timeoutMs: SHORT } }, {}, async (tool) => {
      const { message } = await failure<ToolException>(tool.invoke({ ms: LONG }));
      expect(message).toContain(`${SHORT} ms`);
      expect(message).toContain("Raise `defaultToolTimeout` of the server or `timeout` of the call");
      expect(message).not.toContain("timeoutMs");
    });
  });

  it("apply to silence: a tool that reports progress continues, even without a hook", async () => {
    // Therefore every call carries a progress token.
    await withTool({ toolport: { timeoutMs: 400 } }, {}, async (tool) => {
      expect(await tool.invoke({ ms: 1_200, steps: 24 })).toBe("done");
    });
  });

  it("give the same message if the port ends the call first", async () => {
    // LangChain starts no timer for a number in the metadata.
    await withTool({}, {}, (tool) =>
      expectTimeout(tool.invoke({ ms: LONG }, { metadata: { timeoutMs: SHORT } }), SHORT),
    );
  });
});

describe("a signal", () => {
  it("ends the call with its own reason, and the server is notified", async () => {
    await withTool({ defaultToolTimeout: LONG }, {}, async (tool) => {
      const controller = new AbortController();
      const reason = new Error("The user went away");
      const call = tool.invoke({ ms: LONG }, { signal: controller.signal });
      setTimeout(() => controller.abort(reason), 50);
      expect(await failure(call)).toBe(reason);
    });
  });

  it("with a timeout of the caller ends with the caller's reason", async () => {
    await withTool({}, {}, async (tool) => {
      const signal = AbortSignal.timeout(50);
      const error = await failure(tool.invoke({ ms: LONG }, { signal, timeout: LONG }));
      expect(error).toMatchObject({ name: "TimeoutError" });
    });
  });

  it("that is already aborted sends nothing", async () => {
    await withTool({}, {}, async (tool) => {
      const calls = server.calls.length;
      await failure(tool.invoke({ ms: 1 }, { signal: AbortSignal.abort() }));
      expect(server.calls.length).toBe(calls);
    });
  });
});
