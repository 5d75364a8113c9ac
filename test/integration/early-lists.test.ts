/** A list that the server makes before it reports changes, and that arrives after its acknowledgement. */
import { createToolport, type Toolport } from "toolport";
import { createTestServer } from "toolport/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { usersOf } from "../../packages/gateway/src/users.js";
import { heldFetch } from "../support/held-fetch.js";
import { followWire, nextChange, STREAM } from "../support/late-listening.js";

const tool = { handler: () => "" };
const prompt = { get: () => "" };

// Toolport waits for the SDK only briefly before it reads the lists, and a busy machine may take longer to load it.
beforeAll(async () => void (await import("@modelcontextprotocol/client")));

/** Changes the tools after the server has listed them, and before it accepts to report changes. */
async function changeEarly(
  era: "modern" | "legacy",
  read: (toolport: Toolport) => Promise<void>,
  isLate: boolean,
) {
  const server = createTestServer({ era, tools: { old: tool }, prompts: { old: prompt } });
  const http = await server.http();
  const { fetch, hold, release, reached } = heldFetch();
  const requests: string[] = [];
  const toolport = createToolport({ mcpServers: { s: http.entry }, fetch });
  const { acknowledged } = followWire(toolport);
  toolport.on("message", ({ direction, message }) => {
    if (direction === "sent") requests.push(String((message as { method?: unknown }).method));
  });
  const stream = STREAM[era];
  hold("request", stream);
  if (isLate) hold("response", "tools/list");
  const listed = reached("response", "tools/list");
  const reading = read(toolport);
  await listed;
  if (!isLate) await reading;
  await server.update({ tools: { new: tool } });
  const opened = era === "modern" ? acknowledged : reached("response", stream);
  release("request", stream);
  await opened;
  // The client handles the response with the stream before this.
  await new Promise((resolve) => setImmediate(resolve));
  release("response", "tools/list");
  await reading;
  return {
    server,
    toolport,
    count: (method: string) => requests.filter((each) => each === method).length,
    async [Symbol.asyncDispose]() {
      await toolport.close();
      await server.close();
    },
  };
}

/** A change of another list is known. By then, all that had to be read again before has been read. */
async function anotherChange(server: ReturnType<typeof createTestServer>, toolport: Toolport): Promise<void> {
  for (;;) {
    const changed = nextChange(toolport);
    await server.update({ prompts: { new: prompt } });
    if ((await changed).lists.includes("prompts")) return;
  }
}

describe.each(["modern", "legacy"] as const)("a %s server over HTTP", (era) => {
  const connect = async (toolport: Toolport) => void (await toolport.connect());
  const names = (toolport: Toolport) => toolport.snapshot().tools.map(({ sourceName }) => sourceName);

  test("that acknowledges after the list has arrived", async () => {
    await using scene = await changeEarly(era, connect, false);
    await anotherChange(scene.server, scene.toolport);
    expect(names(scene.toolport)).toEqual(["new"]);
    expect(scene.count("tools/list")).toBe(2);
  });

  test("that acknowledges before the list has arrived", async () => {
    await using scene = await changeEarly(era, connect, true);
    await anotherChange(scene.server, scene.toolport);
    expect(names(scene.toolport)).toEqual(["new"]);
    expect(scene.count("tools/list")).toBe(2);
  });
});

describe.each(["modern", "legacy"] as const)(
  "a user of a gateway in front of a %s server over HTTP",
  (era) => {
    const patient = { limitMs: 60_000 };
    const read = async (toolport: Toolport) => {
      const port = usersOf(toolport).use("ada", "needed");
      await port.need("prompts", patient);
      port.listen();
      await port.need("tools", patient);
    };
    const names = async (toolport: Toolport) => {
      const port = usersOf(toolport).use("ada", "needed");
      await port.need("tools", patient);
      return port.catalog.items("tools").map(({ name }) => name);
    };

    test("that acknowledges after the list has arrived", async () => {
      await using scene = await changeEarly(era, read, false);
      await anotherChange(scene.server, scene.toolport);
      expect(await names(scene.toolport)).toEqual(["s__new"]);
      expect(scene.count("tools/list")).toBe(2);
    });

    test("that acknowledges before the list has arrived", async () => {
      await using scene = await changeEarly(era, read, true);
      await anotherChange(scene.server, scene.toolport);
      expect(await names(scene.toolport)).toEqual(["s__new"]);
      expect(scene.count("tools/list")).toBe(2);
    });
  },
);
