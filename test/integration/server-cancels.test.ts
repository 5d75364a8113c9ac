/** A server that cancels its own request: the callback is aborted, and the call continues. */
import { createToolport, type RequestOrigin } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";

test("the callback is aborted, and the call continues", async () => {
  await using server = createTestServer({
    era: "legacy",
    tools: {
      impatient: {
        handler: async (_args, { server: own }) => {
          const requestedSchema = {
            type: "object" as const,
            properties: { name: { type: "string" as const } },
          };
          const patience = { timeout: 100 };
          const answer = own.elicitInput({ message: "Who?", requestedSchema }, patience);
          return answer.then(
            () => "answered",
            () => "did not wait",
          );
        },
      },
    },
  });
  let origin: RequestOrigin | undefined;
  const warnings: string[] = [];
  await using toolport = createToolport({
    mcpServers: { it: server.memory() },
    onElicitation: (_request, from) => {
      origin = from;
      return new Promise((_resolve, reject) =>
        from.signal.addEventListener("abort", () => reject(from.signal.reason), { once: true }),
      );
    },
  });
  toolport.on("warning", ({ message }) => warnings.push(message));
  expect((await toolport.callTool("it__impatient")).text).toBe("did not wait");
  expect(origin).toMatchObject({ server: "it", tool: "impatient" });
  expect(origin?.signal.aborted).toBe(true);
  expect(warnings).toEqual([]);
});
