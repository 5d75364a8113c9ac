/** A server that keeps announcing changes: its lists are read one at a time, at growing intervals. */
import { createToolport } from "toolport";
import { createTestServer, type TestServerDefinition } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { handWrittenServer, legacyWelcome } from "../support/hand-written-server.js";
import { connectListening } from "../support/late-listening.js";
import { waitFor } from "../support/wait-for.js";

const STORM_MS = 1_500;
const LISTS = ["tools/list", "resources/list", "prompts/list"];
const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

type Family = "tools" | "resources" | "prompts";

/** A list with one item of this name. */
const family = (kind: Family, name: string): Pick<TestServerDefinition, Family> => ({
  ...(kind === "tools" && { tools: { [name]: { handler: () => name } } }),
  ...(kind === "resources" && { resources: { [`test://${name}`]: { text: name } } }),
  ...(kind === "prompts" && { prompts: { [name]: { get: () => name } } }),
});

/** Serves over HTTP, answers lists slowly and not before the stream of changes is open, and counts the requests. */
async function slowLists(server: ReturnType<typeof createTestServer>) {
  const asked: Record<string, number> = {};
  const early: Record<string, number> = {};
  const stream: { opened?: Promise<void> } = {};
  const underWay: Record<string, number> = {};
  const most: Record<string, number> = {};
  const http = await server.http({
    async intercept(request) {
      const text = await request.clone().text();
      const method = /"method":"([^"]+\/list|[^"]+\/listen)"/.exec(text)?.[1] ?? request.method;
      asked[method] = (asked[method] ?? 0) + 1;
      if (!method.endsWith("/list")) return undefined;
      underWay[method] = (underWay[method] ?? 0) + 1;
      most[method] = Math.max(most[method] ?? 0, underWay[method]);
      await stream.opened;
      await delay(120);
      underWay[method] -= 1;
      return undefined;
    },
  });
  /** Lists that were requested before the stream was open are requested once more. */
  const settled = async () => {
    await waitFor(() =>
      LISTS.every((list) => asked[list] === (early[list] ?? 0) + 1 && underWay[list] === 0),
    );
  };
  const opens = (opened: Promise<void>) => {
    stream.opened = opened.then(() => void Object.assign(early, asked));
  };
  return { http, asked, most, opens, settled };
}

describe.concurrent.each(["legacy", "modern"] as const)("in the %s era", (era) => {
  test.each<[Family, string]>([
    ["tools", "tools/list"],
    ["resources", "resources/list"],
    ["prompts", "prompts/list"],
  ])("a storm of changed %s", async (kind, method) => {
    const all = { ...family("tools", "a"), ...family("resources", "a"), ...family("prompts", "a") };
    await using server = createTestServer({ era, ...all });
    const { http, asked, most, opens, settled } = await slowLists(server);
    await using toolport = await connectListening(era, { mcpServers: { it: http.entry } }, opens);
    await settled();
    const before = { ...asked };
    const changed: string[] = [];
    toolport.on("listsChanged", ({ lists }) => changed.push(...lists));
    const endAt = performance.now() + STORM_MS;
    let changes = 0;
    while (performance.now() < endAt || changes <= 30) {
      changes += 1;
      await server.update(family(kind, `n${changes}`));
      await delay(2);
    }
    const last = `n${changes}`;
    const names = () => JSON.stringify(toolport.snapshot()[kind]);
    await waitFor(() => names().includes(last), { label: () => `${last} in ${names()}` });
    expect(most[method]).toBe(1);
    expect(asked[method]! - before[method]!).toBeLessThanOrEqual(8);
    // Unchanged lists are not read.
    for (const other of LISTS.filter((name) => name !== method)) expect(asked[other]).toBe(before[other]);
    expect(new Set(changed)).toEqual(new Set([kind]));
  });
});

/** A server that announces a change with every list request. */
function restless() {
  const seen = { lists: 0, underWay: 0, most: 0 };
  const transport = handWrittenServer(async ({ id, method }, say) => {
    if (id === undefined) return;
    if (method === "initialize")
      return say({ id, result: legacyWelcome("restless", { tools: { listChanged: true } }) });
    if (method !== "tools/list") return say({ id, result: { content: [{ type: "text", text: "ok" }] } });
    seen.lists += 1;
    seen.most = Math.max(seen.most, ++seen.underWay);
    for (let round = 0; round < 10; round += 1) {
      await say({ method: "notifications/tools/list_changed" });
      await delay(10);
    }
    seen.underWay -= 1;
    return say({ id, result: { tools: [{ name: "one", inputSchema: { type: "object" } }] } });
  });
  return { seen, entry: { transport, protocol: "legacy" as const } };
}

test("a server that announces a change with every list is read at growing intervals", async () => {
  const { seen, entry } = restless();
  await using toolport = createToolport({ mcpServers: { it: entry } });
  await toolport.connect();
  const startedAt = performance.now();
  await delay(2_000);
  // The first, then one after 50, 250, 500, 1,000 … ms and the time each takes.
  expect(seen.lists).toBeLessThanOrEqual(4 + Math.ceil((performance.now() - startedAt) / 1_000));
  expect(seen.lists).toBeGreaterThan(1);
  expect(seen.most).toBe(1);
  expect((await toolport.callTool("it__one")).text).toBe("ok");
});

test("a list that fails after the last change is read again", async () => {
  await using server = createTestServer({ era: "legacy", ...family("tools", "old") });
  let failures = 0;
  const http = await server.http({
    async intercept(request) {
      const isList = (await request.clone().text()).includes("tools/list");
      if (!isList || failures === 0) return undefined;
      failures -= 1;
      return new Response("busy", { status: 500 });
    },
  });
  await using toolport = createToolport({ mcpServers: { it: http.entry } });
  await toolport.connect();
  const warnings: string[] = [];
  toolport.on("warning", ({ message }) => warnings.push(message));
  const listening = () => toolport.snapshot().tools.map(({ sourceName }) => sourceName);
  await server.update(family("tools", "new"));
  await waitFor(() => listening().includes("new"));
  failures = 2;
  await server.update(family("tools", "last"));
  await waitFor(() => listening().includes("last"));
  expect(failures).toBe(0);
  expect(warnings).toEqual([
    expect.stringContaining("The list of tools could not be read again"),
    expect.stringContaining("The list of tools could not be read again"),
  ]);
  expect(toolport.snapshot().servers["it"]).toMatchObject({ state: "ready" });
});
