/** Questions of a legacy server over HTTP belong to the call on whose stream they arrive, without a gateway too. */
import type { ServerContext } from "@modelcontextprotocol/server";
import { createToolport, type RequestOrigin } from "toolport";
import { createTestServer, type TestTool } from "toolport/testing";
import { expect, onTestFinished, test } from "vitest";

const ask = (request: ServerContext, message: string) =>
  request.mcpReq.send({
    method: "elicitation/create",
    params: { message, requestedSchema: { type: "object", properties: {} } },
  });

function createScene(meet: () => Promise<void>) {
  const asking: TestTool["handler"] = async (_args, { request }) => {
    await meet();
    return JSON.stringify(await ask(request, "?"));
  };
  const tools: Record<string, TestTool> = {
    first: { handler: asking },
    second: { handler: asking },
    silent: {
      async handler() {
        await meet();
        return "not asked";
      },
    },
  };
  const server = createTestServer({ era: "legacy", tools });
  onTestFinished(() => server.close());
  return server;
}

/** Resolves when two calls are in flight. */
function createMeeting() {
  let arrived = 0;
  let open = () => {};
  const both = new Promise<void>((resolve) => {
    open = resolve;
  });
  return () => {
    arrived += 1;
    if (arrived === 2) open();
    return both;
  };
}

test("onElicitation learns which of two concurrent calls asks", async () => {
  const origins: (string | undefined)[] = [];
  const { entry } = await createScene(createMeeting()).http();
  await using toolport = createToolport({
    mcpServers: { up: entry },
    onElicitation(_request: unknown, { tool }: RequestOrigin) {
      origins.push(tool);
      return { action: "accept", content: {} };
    },
  });
  await Promise.all([toolport.callTool("up__first", {}), toolport.callTool("up__second", {})]);
  expect(origins.sort()).toEqual(["first", "second"]);
});

test("only the suspendable call that asked is NOT_OFFERED", async () => {
  const { entry } = await createScene(createMeeting()).http();
  await using toolport = createToolport({ mcpServers: { up: entry } });
  const [asked, silent] = await Promise.allSettled([
    toolport.callTool("up__first", {}, { suspend: true }),
    toolport.callTool("up__silent", {}, { suspend: true }),
  ]);
  expect(asked).toMatchObject({ status: "rejected", reason: { code: "NOT_OFFERED", tool: "first" } });
  expect(silent).toMatchObject({ status: "fulfilled", value: { text: "not asked" } });
});
