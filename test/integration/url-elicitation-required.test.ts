/** A server of 2025-11-25 that requires a web page first (-32042): the user is asked, and the request is sent again. */
import { ProtocolError, UrlElicitationRequiredError } from "@modelcontextprotocol/server";
import { createToolport, type ElicitationRequest, type ToolportOptions } from "toolport";
import { createTestServer, type TestToolContext } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { failure } from "../support/failure.js";

type UrlRequest = Extract<ElicitationRequest, { mode: "url" }>;

const page = {
  mode: "url" as const,
  elicitationId: "e1",
  url: "https://bücher.example/login",
  message: "Log in",
};

/** Refuses until `isDone`. */
function guarded(isDone: (context: TestToolContext) => boolean, pages: object[] = [page]) {
  return createTestServer({
    era: "legacy",
    tools: {
      enter: {
        handler: (_args, context) => {
          if (isDone(context)) return "inside";
          throw new UrlElicitationRequiredError(pages as never);
        },
      },
    },
  });
}

const open = (server: ReturnType<typeof guarded>, url?: (request: UrlRequest) => "accept" | "decline") => {
  const asked: UrlRequest[] = [];
  const options: ToolportOptions = {
    mcpServers: { it: server.memory() },
    ...(url && {
      onElicitation: {
        url: (request: UrlRequest) => {
          asked.push(request);
          return { action: url(request) };
        },
      },
    }),
  };
  return { toolport: createToolport(options), asked };
};

describe("-32042", () => {
  test("the user agrees, and the call is sent again", async () => {
    let attempts = 0;
    await using server = guarded(() => ++attempts > 1);
    const { toolport, asked } = open(server, () => "accept");
    await using _ = toolport;
    expect((await toolport.callTool("it__enter")).text).toBe("inside");
    expect(asked).toEqual([
      {
        mode: "url",
        message: "Log in",
        url: "https://xn--bcher-kva.example/login",
        host: "xn--bcher-kva.example",
        isPunycode: true,
        elicitationId: "e1",
      },
    ]);
    expect(attempts).toBe(2);
  });

  test("the call is sent again when the server reports that the page is done", async () => {
    let done = false;
    let attempts = 0;
    await using server = guarded(({ server: own }) => {
      if (++attempts === 1)
        setTimeout(() => {
          done = true;
          void own.notification({
            method: "notifications/elicitation/complete",
            params: { elicitationId: "e1" },
          });
        }, 100);
      return done;
    });
    const { toolport, asked } = open(server, () => "accept");
    await using _ = toolport;
    expect((await toolport.callTool("it__enter")).text).toBe("inside");
    expect(asked).toHaveLength(1);
  });

  test("the server never reports it: the call fails with the refusal, in time", async () => {
    await using server = guarded(() => false);
    const { toolport } = open(server, () => "accept");
    await using _ = toolport;
    expect(await failure(toolport.callTool("it__enter", {}, { timeoutMs: 200 }))).toMatchObject({
      code: "PROTOCOL",
      rpcCode: -32042,
    });
    expect(server.calls).toHaveLength(2);
  });

  test("the user does not agree", async () => {
    await using server = guarded(() => false);
    const { toolport } = open(server, () => "decline");
    await using _ = toolport;
    expect(await failure(toolport.callTool("it__enter"))).toMatchObject({
      code: "REFUSED",
      server: "it",
      tool: "enter",
      rpcCode: -32042,
    });
    expect(server.calls).toHaveLength(1);
  });

  test("without a callback the error names the missing option", async () => {
    await using server = guarded(() => false);
    const { toolport } = open(server);
    await using _ = toolport;
    const error = await failure(toolport.callTool("it__enter"));
    expect(error).toMatchObject({ code: "PROTOCOL", rpcCode: -32042, data: { elicitations: [page] } });
    expect(error.message).toContain("onElicitation: { url }");
  });

  test.each([[[]], [[{ mode: "url", url: "https://x.example" }]], [Array(6).fill(page)], [[null]]])(
    "an invalid one is an ordinary error: %o",
    async (pages) => {
      await using server = createTestServer({
        era: "legacy",
        tools: {
          enter: {
            handler: () => {
              throw new ProtocolError(-32042, "no", { elicitations: pages });
            },
          },
        },
      });
      const { toolport, asked } = open(server, () => "accept");
      await using _ = toolport;
      expect(await failure(toolport.callTool("it__enter"))).toMatchObject({ rpcCode: -32042 });
      expect(asked).toEqual([]);
    },
  );
});
