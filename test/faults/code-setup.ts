/** Code mode for fault cases: a server in memory, a short limit on processor time, and a watch on threads. */
import { createToolport, type Toolport, type ToolportOptions } from "toolport";
import {
  type CodeLimits,
  type CodeMode,
  type CodeOutcome,
  createCodeMode,
  type ExecuteOptions,
} from "toolport/code";
import { createTestServer, type TestServer, type TestTool } from "toolport/testing";
import { expect } from "vitest";
import { watchThreads } from "../support/watch-threads.js";
import type { FaultHarness } from "./fault-harness.js";

const echo: TestTool = { handler: (args) => ({ structuredContent: { got: args }, content: [] }) };

export interface CodeScene {
  readonly code: CodeMode;
  readonly toolport: Toolport;
  readonly server: TestServer;
  /** What the tool `echo` received. */
  readonly received: unknown[];
  readonly threads: ReturnType<typeof watchThreads>;
  run(source: string, options?: ExecuteOptions): Promise<CodeOutcome>;
}

export interface CodeSceneOptions {
  readonly tools?: Record<string, TestTool>;
  readonly limits?: CodeLimits;
  readonly port?: Omit<ToolportOptions, "mcpServers">;
}

/** The harness closes all of it and checks that no thread is left. */
export function openCode(
  harness: FaultHarness,
  { tools = {}, limits, port }: CodeSceneOptions = {},
): CodeScene {
  const threads = watchThreads();
  const received: unknown[] = [];
  const recorded: TestTool = {
    handler(args, context) {
      received.push(args);
      return echo.handler(args, context);
    },
  };
  const server = harness.keep(createTestServer({ tools: { echo: recorded, ...tools } }));
  const toolport = harness.keep(createToolport({ ...port, mcpServers: { s: server.memory() } }));
  const code = createCodeMode(toolport, { limits: { cpuMs: 500, ...limits } });
  harness.atEnd(async () => {
    await code.close();
    threads.stop();
    expect(threads.alive()).toBe(0);
  });
  return {
    code,
    toolport,
    server,
    received,
    threads,
    run: (source, options) => code.execute(source, options),
  };
}

/** The common rule without a neighbour: most programs end in milliseconds. */
export const ALONE = { neighbour: false } as const;
