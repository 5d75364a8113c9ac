/** User callbacks that throw or reject: reported, and the call continues. */
import type { Logger, ServerEntry, ServerRef, Toolport, ToolportOptions } from "toolport";
import { createTestServer, type TestTool } from "toolport/testing";
import { expect } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";
import { faultProcess } from "./fault-process.js";

const WORDS = "the user's own failure";

/** The ways in which a function can fail. */
const failing: [how: string, fail: () => never][] = [
  [
    "throws",
    () => {
      throw new Error(WORDS);
    },
  ],
  ["rejects", (() => Promise.reject(new Error(WORDS))) as () => never],
];

const reported = (harness: FaultHarness) =>
  waitFor(() => harness.logged.some((line) => line.includes(WORDS)));

/** Fails only for the tools of `it`, because the neighbour shares the callback. */
const forIt =
  <Tool, Result>(fail: () => never, otherwise: (server: ServerRef, tool: Tool) => Result) =>
  (server: ServerRef, tool: Tool): Result =>
    server.name === "it" ? fail() : otherwise(server, tool);

/** The server answers, and the log has the report. */
const chatty: TestTool = {
  async handler({ text }, { server }) {
    await server.sendLoggingMessage({ level: "info", data: "called" });
    return String(text);
  },
};

async function expectWell(toolport: Toolport): Promise<void> {
  expect((await toolport.callTool("it__echo", { text: "well" })).text).toBe("well");
}

for (const [how, fail] of failing) {
  faultCase("Y04", `a listener of events that ${how}`, async (harness) => {
    const toolport = harness.open({ it: faultProcess(harness).entry });
    const states: string[] = [];
    toolport.on("state", fail);
    toolport.on("tools", fail);
    toolport.on("warning", fail);
    toolport.on("state", ({ server, to }) => server === "it" && states.push(to));
    await expectWell(toolport);
    expect(states.at(-1)).toBe("ready");
    await reported(harness);
  });

  faultCase("Y04", `onProgress that ${how}`, async (harness) => {
    const work: TestTool = {
      async handler(_args, { progress }) {
        await progress(1);
        return "done";
      },
    };
    const server = harness.keep(createTestServer({ tools: { work } }));
    const toolport = harness.open({ it: server.memory() }, { onProgress: fail });
    const { text } = await toolport.callTool("it__work", {}, { onProgress: fail });
    expect(text).toBe("done");
    await reported(harness);
  });

  const logged = (harness: FaultHarness, text = WORDS) => harness.logged.some((line) => line.includes(text));
  const options: [
    what: string,
    options: Omit<ToolportOptions, "mcpServers">,
    isReported: (harness: FaultHarness, toolport: Toolport) => boolean,
  ][] = [
    ["onLog", { onLog: fail }, (harness) => logged(harness)],
    ["onServerError", { onServerError: fail }, (harness) => logged(harness)],
    ["a call listener", { listeners: [{ before: fail, after: fail }] }, (harness) => logged(harness)],
    [
      "toolNameMapper",
      { toolNameMapper: forIt(fail, ({ name }, tool) => `${name}__${tool.name}`) },
      (_room, toolport) =>
        toolport.snapshot().nameIssues.some(({ kind, server }) => kind === "mapper" && server === "it"),
    ],
    [
      "toolSpecificationMapper",
      { toolSpecificationMapper: forIt(fail, (_server, tool) => tool) },
      (harness) => logged(harness, "toolSpecificationMapper threw for it/echo"),
    ],
  ];
  for (const [what, given, isReported] of options) {
    faultCase("Y04", `${what} that ${how}: reported, and the call is still made`, async (harness) => {
      const server = harness.keep(
        createTestServer({ era: "legacy", capabilities: { logging: {} }, tools: { echo: chatty } }),
      );
      const toolport = harness.open({ it: server.memory(), broken: { command: "no-such-program" } }, given);
      await toolport.connect();
      await expectWell(toolport);
      await waitFor(() => isReported(harness, toolport));
    });
  }

  faultCase("Y04", `a filter that ${how}: its tool is withheld, the others are listed`, async (harness) => {
    const echo = { handler: () => "well" };
    const server = harness.keep(createTestServer({ tools: { echo, other: echo } }));
    const filter = (ref: ServerRef, tool: { name: string }) =>
      ref.name === "it" && tool.name === "other" ? fail() : true;
    const toolport = harness.open({ it: server.memory() }, { filter });
    await expectWell(toolport);
    await harness.fails(toolport.callTool("it__other"), {
      code: "TOOL_WITHHELD",
      server: "it",
      withinMs: 1_000,
    });
  });

  faultCase("Y04", `a logger that ${how}`, async (harness) => {
    const logger: Logger = { debug: fail, info: fail, warn: fail, error: fail };
    const entry = { ...faultProcess(harness).entry, logEvents: true, logRequests: true, logResponses: true };
    await expectWell(harness.open({ it: entry }, { logger }));
  });

  faultCase("Y04", `approve that ${how}: the call is not made, others are`, async (harness) => {
    const server = harness.keep(createTestServer({ tools: { echo: chatty } }));
    const approve = ({ server: { name } }: { server: { name: string } }) => (name === "it" ? fail() : true);
    const toolport = harness.open({ it: server.memory() }, { approve });
    await expect(toolport.callTool("it__echo", { text: "?" })).rejects.toThrow(WORDS);
    expect(server.calls).toEqual([]);
  });

  faultCase(
    "Y04",
    `an elicitation callback that ${how}: the server gets an error, the call continues`,
    async (harness) => {
      const ask: TestTool = {
        async handler(_args, { server }) {
          const params = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
          return await server.elicitInput(params).then(
            () => "answered",
            () => "refused",
          );
        },
      };
      const server = harness.keep(createTestServer({ era: "legacy", tools: { ask } }));
      const toolport = harness.open({ it: server.memory() }, { onElicitation: fail });
      expect((await toolport.callTool("it__ask")).text).toBe("refused");
      await reported(harness);
    },
  );

  const entries: [what: string, entry: (url: string) => ServerEntry][] = [
    ["headers", (url) => ({ url, headers: fail })],
    ["an authProvider", (url) => ({ url, authProvider: { token: fail } })],
    ["a transport", () => ({ transport: fail })],
  ];
  for (const [what, entry] of entries) {
    faultCase("Y04", `${what} that ${how} affects only its own server`, async (harness) => {
      const web = harness.keep(createTestServer({ tools: { echo: { handler: () => "well" } } }));
      const { url } = await web.http();
      const toolport = harness.open({ bad: entry(url), it: { url } });
      const { servers } = await toolport.connect();
      expect(servers["bad"]).toMatchObject({ state: "failed", error: { server: "bad" } });
      await expectWell(toolport);
    });
  }
}

faultCase("Y04", "a listener that closes the port during a state event", async (harness) => {
  const toolport = harness.open({ it: faultProcess(harness).entry });
  let closing: Promise<void> | undefined;
  toolport.on("state", ({ server, to }) => {
    if (server === "it" && to === "connected") closing = toolport.close();
  });
  const { servers } = await toolport.connect();
  expect(servers["it"]).toMatchObject({ state: "closed" });
  await closing;
});
