/** Failures: a server that rejects a call, disappears or crashes, lost sessions and connections, and a crash behind the gateway. */
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { Client } from "@modelcontextprotocol/client";
import { withDeadline } from "@toolport/base";
import type { FallbackRequest, Toolport, ToolportEvents } from "@toolport/core";
import { createGateway } from "@toolport/gateway";
import { listenOnLoopback } from "@toolport/testing/internal";
import { CALL_LIMIT, CALLS, callOnce } from "./connect-and-call.js";
import type { DemoServers, WeatherServers } from "./servers.js";
import { check } from "./step-runner.js";

const CITY = { city: "Oslo" };

/** A server without a fallback rejects the call once with `Retry-After`. Toolport retries it after that time. */
export async function retryAfterRejection(toolport: Toolport, weather: WeatherServers): Promise<string[]> {
  weather.rejectNextCall();
  const { text, attempts, durationMs } = await toolport.callTool("weather_eu__forecast", CITY, CALL_LIMIT);
  check(attempts === 2, `${attempts} attempts were made, not 2`);
  check(durationMs >= 1_000, "the second attempt did not wait for Retry-After");
  return [
    "first attempt: HTTP 503 with Retry-After: 1, so Toolport waits 1 s",
    `second attempt: "${text}", ${Math.round(durationMs)} ms after the call was made`,
  ];
}

/** The server is stopped, so its fallback responds until the server is back. */
export async function fallBack(
  toolport: Toolport,
  weather: WeatherServers,
  asked: readonly FallbackRequest[],
): Promise<string[]> {
  const call = () => toolport.callTool("weather__forecast", CITY, CALL_LIMIT);
  await weather.stop();
  const instead = await call();
  check(instead.server === "weather_eu", `${instead.server} responded, not weather_eu`);
  check(instead.durationMs < 1_000, `that took ${Math.round(instead.durationMs)} ms`);
  check(asked.length === 1, `beforeFallback was called ${asked.length} times, not once`);
  await Promise.all([waitForChange(toolport, "weather", ({ to }) => to === "ready"), weather.start()]);
  const again = await call();
  check(again.server === "weather", `${again.server} responded, not weather`);
  return [
    ...asked.map(
      ({ server, next, error, outcome }) =>
        `beforeFallback: ${server.name} → ${next.name} because of ${error.code}, outcome ${outcome}`,
    ),
    `${instead.server} responded "${instead.text}" after ${Math.round(instead.durationMs)} ms`,
    `weather was started again and reconnected automatically: ${again.server} responded "${again.text}"`,
  ];
}

/** Kills the process of the stdio server. Adds every process id to `pids`, for the check at the end. */
export async function killProcess(toolport: Toolport, pids: Set<number>): Promise<string[]> {
  const processId = async () =>
    addTo(pids, (await toolport.callTool("notes__process_id", {}, CALL_LIMIT)).text);
  const first = await processId();
  const moves = watch(toolport, "notes");
  const lost = whenLost(toolport, "notes");
  process.kill(first, "SIGKILL");
  await lost;
  const { ms } = await callOnce(toolport, CALLS.notes);
  const second = await processId();
  check(second !== first, "the same process responded");
  return [`process ${first} was killed, process ${second} responded after ${ms} ms`, `states: ${moves()}`];
}

function addTo(pids: Set<number>, text: string): number {
  pids.add(Number(text));
  return Number(text);
}

/** Makes the HTTP server forget its sessions, as after a restart. */
export async function forgetSessions(toolport: Toolport, { calendar }: DemoServers): Promise<string[]> {
  const [before] = calendar.sessionIds;
  const moves = watch(toolport, "calendar");
  await calendar.forgetSessions();
  const { text, ms } = await callOnce(toolport, CALLS.calendar);
  const [after] = calendar.sessionIds;
  check(before !== undefined && after !== undefined && after !== before, "there is no new session");
  return [
    `session ${brief(before)} was forgotten, session ${brief(after)} responded "${text}" after ${ms} ms`,
    `states: ${moves()}`,
  ];
}

/** Drops the WebSocket connection. */
export async function dropWebSocket(toolport: Toolport, { relay }: DemoServers): Promise<string[]> {
  const moves = watch(toolport, "relay");
  const lost = whenLost(toolport, "relay");
  relay.dropConnections();
  await lost;
  const { text, ms } = await callOnce(toolport, CALLS.relay);
  return [`a new connection responded "${text}" after ${ms} ms`, `states: ${moves()}`];
}

const brief = (id: string): string => `${id.slice(0, 8)}…`;

/** Records the states of a server until the returned function is called. */
function watch(toolport: Toolport, server: string): () => string {
  const states: string[] = [toolport.snapshot().servers[server]?.state ?? "unknown"];
  const off = toolport.on("state", (change) => {
    if (change.server === server) states.push(change.to);
  });
  return () => {
    off();
    return states.join(" → ");
  };
}

const TIMEOUT_MS = 5_000;

/** Resolves at the first matching state change. Call it before you break something. */
function waitForChange(
  toolport: Toolport,
  server: string,
  fits: (change: ToolportEvents["state"]) => boolean,
): Promise<void> {
  let off = () => {};
  const changed = new Promise<void>((resolve) => {
    off = toolport.on("state", (change) => {
      if (change.server === server && change.principal === undefined && fits(change)) resolve();
    });
  });
  const onTimeout = () => new Error(`the state of ${server} did not change in time`);
  return withDeadline(changed, { timeoutMs: TIMEOUT_MS, onTimeout }).finally(off);
}

/** Resolves when Toolport has noticed that the connection is lost. */
const whenLost = (toolport: Toolport, server: string): Promise<void> =>
  waitForChange(toolport, server, ({ from }) => from === "ready");

/** Calls to other servers that run while one server is killed. */
const OTHERS = [CALLS.units, CALLS.calendar, CALLS.relay];
const MIN_CALLS = 30;

/** Lets the SDK's own client use all servers through the gateway, while one of them is killed. */
export async function serveForeignClient(toolport: Toolport, pids: Set<number>): Promise<string[]> {
  const token = randomBytes(32).toString("base64url");
  const gateway = createGateway(toolport, { auth: { token } });
  const server = await listenOnLoopback(createServer((request, response) => gateway.node(request, response)));
  try {
    const client = await connect(new URL(`http://${server.address}/mcp`), token);
    try {
      return await callWhileKilling(toolport, client, pids);
    } finally {
      await client.close();
    }
  } finally {
    await gateway.close({ drainMs: 1_000 });
    await server.close();
  }
}

async function callWhileKilling(toolport: Toolport, client: Client, pids: Set<number>): Promise<string[]> {
  const { tools } = await client.listTools();
  const processId = async () => addTo(pids, await call(client, { name: "notes__process_id", args: {} }));
  const first = await processId();
  let isHealed = false;
  let [made, failed] = [0, 0];
  const others = OTHERS.map(async (wanted) => {
    while (!isHealed || made < MIN_CALLS) {
      const text = await call(client, wanted).catch(String);
      made += 1;
      if (text !== wanted.answer) failed += 1;
    }
  });
  const lost = whenLost(toolport, "notes");
  process.kill(first, "SIGKILL");
  await lost;
  const startedAt = performance.now();
  const second = await processId().finally(() => {
    isHealed = true;
  });
  const ms = Math.round(performance.now() - startedAt);
  await Promise.all(others);
  check(second !== first, "the same process responded");
  check(failed === 0, `${failed} of ${made} calls to other servers failed`);
  return [
    `the SDK's client lists ${tools.length} tools at one address`,
    `process ${first} was killed, process ${second} responded to the same client after ${ms} ms`,
    `meanwhile ${made} calls to other servers, ${failed} of them failed`,
  ];
}

async function call(
  client: Client,
  { name, args }: { name: string; args: Readonly<Record<string, unknown>> },
): Promise<string> {
  const { content } = (await client.callTool({ name, arguments: { ...args } })) as {
    content: readonly { readonly text?: string }[];
  };
  return content.map(({ text = "" }) => text).join("");
}

async function connect(url: URL, token: string): Promise<Client> {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const client = new Client({ name: "foreign-client", version: "1.0.0" });
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  return client;
}
