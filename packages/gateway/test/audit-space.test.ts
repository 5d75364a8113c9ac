/** A writer of the audit log that is slower than the requests: they wait, and none is without a line. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryStore } from "toolport";
import type { AuditEvent, GatewayOptions } from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { expect, onTestFinished, test } from "vitest";
import { createPipe, type NamedPipe } from "../../../test/support/named-pipe.js";
import { verifyAudit } from "../src/audit/verify-audit.js";
import { loadGatewayKeys } from "../src/replicas/gateway-key.js";
import { createSeal } from "../src/replicas/seal.js";
import { openGateway } from "./gateway-scene.js";
import { post } from "./raw-client.js";

const OPEN = 40;
const END = '"event":"end"';
const LARGE = "x".repeat(100_000);
/** Its response needs no line. */
const NOTICE = { jsonrpc: "2.0", method: "notifications/initialized" };
const call = (name: string) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: `up__${name}`, arguments: { text: LARGE } },
});

function deferred(): [promise: Promise<void>, resolve: () => void] {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return [promise, resolve];
}

const isWindows = process.platform === "win32";

/** A gateway whose log is not read yet. */
async function openScene(
  tools: NonNullable<Parameters<typeof createTestServer>[0]>["tools"],
  options: GatewayOptions = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "toolport-audit-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "audit.ndjson");
  const pipe = createPipe(file);
  onTestFinished(() => pipe[Symbol.asyncDispose]());
  const up = createTestServer({ tools });
  onTestFinished(() => up.close());
  const store = memoryStore();
  const scene = await openGateway(
    { mcpServers: { up: up.memory() }, store },
    {
      auth: { verify: () => ({ principal: "eve" }) },
      audit: { file, includeArguments: true, maxBufferBytes: 100_000, fsyncMs: Number.POSITIVE_INFINITY },
      ...options,
    },
  );
  let text: ReturnType<NamedPipe["read"]> | undefined;
  const read = () => (text ??= pipe.read());
  onTestFinished(async () => {
    // `close()` waits for the writer.
    read();
    await scene[Symbol.asyncDispose]();
  });
  const verify = async (log: string) => {
    const keys = await loadGatewayKeys(store);
    const report = await verifyAudit([log], createSeal(keys).mac);
    keys.close();
    expect(report.problem).toBeUndefined();
    return report;
  };
  return { scene, up, read, verify };
}

const eventsOf = (log: string): AuditEvent[] =>
  log
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

test.skipIf(isWindows)("requests with large arguments wait before they have an effect", async () => {
  const [haveArrived, allArrived] = deferred();
  const [areGone, allGone] = deferred();
  const [allCalled, lastCalled] = deferred();
  let calls = 0;
  // All have begun when the first line waits.
  const early = async () => {
    if (++calls === OPEN) lastCalled();
    await allCalled;
    return "done";
  };
  const { scene, up, read, verify } = await openScene({
    early: { handler: early },
    late: { handler: () => "done" },
  });
  // Their lines do not fit into the pipe and the queue.
  const first = await Promise.all(Array.from({ length: OPEN }, () => post(scene.url, call("early"))));
  expect(first.map(({ status }) => status)).toEqual(new Array(OPEN).fill(200));
  const late = post(scene.url, call("late"));
  const refused = post(scene.url, call("late"), { headers: { "mcp-session-id": "forged" } });
  const abort = new AbortController();
  let open = 0;
  let waiting = 0;
  scene.server.on("request", (request, response) => {
    const { "x-gone": isGone, "mcp-session-id": isRefused } = request.headers;
    if (isGone === undefined) return;
    const arrived = () => setImmediate(() => ++waiting === gone.length && allArrived());
    // A request that is served waits after its body, one that is refused before it.
    if (isRefused === undefined) request.once("end", arrived);
    else arrived();
    open += 1;
    response.once("close", () => {
      if (--open === 0) allGone();
    });
  });
  // The second one would be refused.
  const gone = [undefined, { "mcp-session-id": "forged" }].map((headers) =>
    post(scene.url, call("late"), { signal: abort.signal, headers: { "x-gone": "yes", ...headers } }),
  );
  for (const each of gone) each.catch(() => {});
  for (let count = 0; count < 3; count++) expect((await post(scene.url, NOTICE)).status).toBe(202);
  expect(up.calls).toHaveLength(OPEN);
  await haveArrived;
  abort.abort();
  for (const each of gone) await expect(each).rejects.toThrow();
  await areGone;

  const text = read();
  expect((await late).last.result).toMatchObject({ content: [{ text: "done" }] });
  expect((await refused).status).toBe(404);
  expect(up.calls).toHaveLength(OPEN + 1);
  await scene[Symbol.asyncDispose]();
  const log = await text(END);
  expect(await verify(log)).toMatchObject({ lines: OPEN + 4, lostRequests: 0, openChains: 0 });
  const outcomes = eventsOf(log).map(({ tool, outcome }) => `${tool} ${outcome}`);
  expect(outcomes.filter((each) => each === "early ok")).toHaveLength(OPEN);
  expect(outcomes.filter((each) => each === "late ok")).toHaveLength(1);
});

test.skipIf(isWindows)("calls of a program wait too", async () => {
  let calls = 0;
  const { scene, read, verify } = await openScene(
    { early: { handler: () => `done ${++calls}` } },
    { code: { limits: { calls: OPEN * 2, cpuMs: 30_000, timeMs: 60_000 } } },
  );
  const code = `for (let n = 0; n < ${OPEN * 2}; n++) await tools.up.early({ text: "x".repeat(5_000) }); return "end";`;
  const execute = { ...call(""), params: { name: "execute", arguments: { code } } };
  const running = post(scene.url, execute);
  // Until the program makes no more calls.
  for (let before = -1; calls === 0 || calls !== before; ) {
    before = calls;
    for (let count = 0; count < 20; count++) expect((await post(scene.url, NOTICE)).status).toBe(202);
  }
  expect(calls).toBeLessThan(OPEN * 2);
  const text = read();
  const { content, isError } = (await running).last.result;
  expect(isError, JSON.stringify(content)).toBe(false);
  await scene[Symbol.asyncDispose]();
  const lines = OPEN * 2 + 3;
  expect(await verify(await text(END))).toMatchObject({ lines, lostRequests: 0, openChains: 0 });
});
