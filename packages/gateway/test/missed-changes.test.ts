/** Clients of a gateway learn of changes that its servers made while no stream reported them. */
import type { Client } from "@modelcontextprotocol/client";
import { createToolport } from "toolport";
import type { GatewayOptions } from "toolport/serve";
import { describe, expect, test } from "vitest";
import { handWrittenServer, legacyWelcome } from "../../../test/support/hand-written-server.js";
import { followWire, lateServer, nextChange, STREAM } from "../../../test/support/late-listening.js";
import { usersOf } from "../src/users.js";
import { openGateway } from "./gateway-scene.js";
import { PATIENT } from "./support/counting-server.js";

const tool = { handler: () => "ok" };
const ERAS = ["modern", "legacy"] as const;
const GATEWAYS: readonly [string, GatewayOptions][] = [
  ["without users", { auth: false }],
  ["with users", { auth: { verify: () => ({ principal: "ada" }) } }],
];

const nextNotice = (client: Client) =>
  new Promise<void>((resolve) => {
    client.setNotificationHandler("notifications/tools/list_changed", () => resolve());
  });

const namesOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);

describe.each(GATEWAYS)("a gateway %s", (_name, options) => {
  test.each(ERAS)("tells its client of a change before the stream of a %s server was open", async (era) => {
    await using late = await lateServer({ era, tools: { old: tool } });
    late.hold(STREAM[era]);
    await using scene = await openGateway({ mcpServers: { up: { url: late.url } } }, options);
    const client = await scene.client("modern");
    const noticed = nextNotice(client);
    await client.listen({ toolsListChanged: true });
    const requested = late.next(STREAM[era]);
    expect(await namesOf(client)).toEqual(["up__old"]);
    await requested;
    await late.server.update({ tools: { new: tool } });
    late.release(STREAM[era]);
    await noticed;
    expect(await namesOf(client)).toEqual(["up__new"]);
  });
});

describe("G32 a gateway with users", () => {
  const options = GATEWAYS[1]![1];

  test.each(ERAS)("tells a client of changes of a %s server before it listened", async (era) => {
    await using late = await lateServer({ era, tools: { old: tool } });
    await using scene = await openGateway({ mcpServers: { up: { url: late.url } } }, options);
    const client = await scene.client("modern");
    expect(await namesOf(client)).toEqual(["up__old"]);
    await late.server.update({ tools: { new: tool } });
    const noticed = nextNotice(client);
    await client.listen({ toolsListChanged: true });
    await noticed;
    expect(await namesOf(client)).toEqual(["up__new"]);
  });

  test("tells a client of changes while its connections were closed", async () => {
    await using late = await lateServer({ era: "modern", tools: { old: tool } });
    await using toolport = createToolport({ mcpServers: { up: { url: late.url } } });
    const users = usersOf(toolport);
    const port = users.use("ada", "needed");
    await port.need("tools", PATIENT);
    users.rest(0);
    expect(port.pool.created()).toEqual([]);
    await late.server.update({ tools: { new: tool } });
    const changed = nextChange(toolport);
    port.listen();
    expect(await changed).toMatchObject({ server: "up", lists: ["tools"] });
    expect(port.catalog.items("tools").map(({ name }) => name)).toEqual(["up__new"]);
  });

  test("reads a list once that arrives after the stream is open", async () => {
    await using late = await lateServer({ era: "modern", tools: { old: tool } });
    await using toolport = createToolport({ mcpServers: { up: { url: late.url } } });
    const port = usersOf(toolport).use("ada", "needed");
    const { acknowledged } = followWire(toolport);
    late.hold("tools/list");
    port.listen();
    const listing = port.need("tools", PATIENT);
    await acknowledged;
    late.release("tools/list");
    await listing;
    const changed = nextChange(toolport);
    await late.server.update({ tools: { new: tool } });
    await changed;
    await port.need("tools", PATIENT);
    expect(late.count("tools/list")).toBe(2);
    expect(port.catalog.items("tools").map(({ name }) => name)).toEqual(["up__new"]);
  });

  test("reads a list again that changed while it was read", async () => {
    const { transport, counts } = changesWhileRead();
    await using toolport = createToolport({ mcpServers: { up: { transport, protocol: "legacy" } } });
    const port = usersOf(toolport).use("ada", "needed");
    await port.need("tools", PATIENT);
    expect(port.catalog.items("tools").map(({ name }) => name)).toEqual(["up__old"]);
    await port.need("tools", PATIENT);
    expect(port.catalog.items("tools").map(({ name }) => name)).toEqual(["up__new"]);
    await port.need("tools", PATIENT);
    expect(counts.lists).toBe(2);
  });
});

/** A server that reports a change after it has read its list, and before it sends it. */
function changesWhileRead() {
  const counts = { lists: 0 };
  const transport = handWrittenServer(async ({ id, method }, say) => {
    if (id === undefined) return;
    if (method === "initialize")
      return say({ id, result: legacyWelcome("hasty", { tools: { listChanged: true } }) });
    counts.lists += 1;
    const tools = [{ name: counts.lists === 1 ? "old" : "new", inputSchema: { type: "object" } }];
    if (counts.lists === 1) await say({ method: "notifications/tools/list_changed" });
    return say({ id, result: { tools } });
  });
  return { transport, counts };
}
