/** The servers of the demo: a real one per transport, and two that fail. */
import { fileURLToPath } from "node:url";
import type { HttpServerEntry, ServerEntry, WebSocketServerEntry } from "../index.js";
import type { TestHttpServer, TestServer, TestStreamServer, TestTool } from "../testing/index.js";
import { allOrNone, createDemoServer } from "./create-demo-server.js";
import { startVault, type VaultServer } from "./vault-server.js";

export interface DemoServers {
  readonly mcpServers: Readonly<Record<string, ServerEntry>>;
  /** Streamable HTTP up to 2025-11-25, with sessions. */
  readonly calendar: TestHttpServer;
  /** Streamable HTTP of 2026-07-28, without sessions. */
  readonly units: TestHttpServer;
  /** WebSocket. */
  readonly relay: TestStreamServer<WebSocketServerEntry>;
  /** Two servers with the same tools. */
  readonly weather: WeatherServers;
  /** A server that requires a login. */
  readonly vault: VaultServer;
  /** Number of protocol probes sent to `calendar` and `units`. */
  readonly probeCount: number;
  close(): Promise<void>;
}

/** Servers that are meant to fail, with the expected error code. */
export const EXPECTED_FAILURES: Readonly<Record<string, string>> = {
  broken: "SPAWN_FAILED",
  missing: "SPAWN_FAILED",
};

const NOTES_SCRIPT = fileURLToPath(new URL("./notes-server.js", import.meta.url));
const BROKEN_SCRIPT = fileURLToPath(new URL("./broken-server.js", import.meta.url));

const text = { type: "string" };
const number = { type: "number" };
const takes = (properties: Record<string, unknown>) => ({
  type: "object",
  properties,
  required: Object.keys(properties),
});

const daysBetween: TestTool = {
  description: "Counts the days between two dates",
  inputSchema: takes({ from: text, to: text }),
  handler: ({ from, to }) =>
    String(Math.round((Date.parse(String(to)) - Date.parse(String(from))) / 86_400_000)),
};

const toFahrenheit: TestTool = {
  description: "Converts degrees Celsius to degrees Fahrenheit",
  inputSchema: takes({ celsius: number }),
  outputSchema: takes({ fahrenheit: number }),
  handler: ({ celsius }) => ({ structuredContent: { fahrenheit: (Number(celsius) * 9) / 5 + 32 } }),
};

const MEANINGS: Readonly<Record<string, string>> = { port: "a place where ships load and unload" };
const define: TestTool = {
  description: "Returns the meaning of a word",
  inputSchema: takes({ word: text }),
  handler: ({ word }) => MEANINGS[String(word)] ?? `No entry for ${String(word)}`,
};

const reverse: TestTool = {
  description: "Reverses a text",
  inputSchema: takes({ text }),
  handler: (args) => [...String(args["text"])].reverse().join(""),
};

/** Starts the servers that listen. The stdio servers are started when a port connects. */
export async function startServers(): Promise<DemoServers> {
  const calendarServer = createDemoServer({
    name: "calendar",
    era: "legacy",
    tools: { days_between: daysBetween },
  });
  const unitsServer = createDemoServer({
    name: "units",
    era: "modern",
    tools: { to_fahrenheit: toFahrenheit },
  });
  const dictionaryServer = createDemoServer({ name: "dictionary", tools: { define } });
  const relayServer = createDemoServer({ name: "relay", tools: { reverse } });
  let probeCount = 0;
  const intercept = async (request: Request) => {
    if ((await methodOf(request.clone())) === "server/discover") probeCount++;
    return undefined;
  };
  const all = [calendarServer, unitsServer, dictionaryServer, relayServer];
  const groups = [startWeather(), startVault()] as const;
  const close = async () => {
    const started = await Promise.allSettled(groups);
    const servers = started.flatMap((group) => (group.status === "fulfilled" ? [group.value] : []));
    await Promise.all([...servers, ...all].map((server) => server.close()));
  };
  const starting = [
    calendarServer.http({ intercept }),
    unitsServer.http({ intercept }),
    dictionaryServer.sse(),
    relayServer.webSocket(),
    ...groups,
  ] as const;
  const [calendar, units, dictionary, relay, weather, vault] = await allOrNone(starting, close);
  return {
    mcpServers: {
      notes: { command: process.execPath, args: [NOTES_SCRIPT] },
      calendar: calendar.entry,
      units: units.entry,
      dictionary: dictionary.entry,
      relay: relay.entry,
      ...weather.mcpServers,
      broken: { command: process.execPath, args: [BROKEN_SCRIPT] },
      missing: { command: "no-such-mcp-server" },
    },
    calendar,
    units,
    relay,
    weather,
    vault,
    get probeCount() {
      return probeCount;
    },
    close,
  };
}

export interface WeatherServers {
  /** The second is the fallback of the first. */
  readonly mcpServers: Readonly<Record<"weather" | "weather_eu", HttpServerEntry>>;
  /** Number of `tools/list` requests to both. */
  readonly listCount: number;
  /** Rejects the next call to either with HTTP 503 and `Retry-After: 1`. */
  rejectNextCall(): void;
  /** Stops the first server. */
  stop(): Promise<void>;
  /** Starts it again, on the same port. */
  start(): Promise<void>;
  close(): Promise<void>;
}

const makeServer = (name: string): TestServer =>
  createDemoServer({
    name,
    tools: {
      forecast: {
        description: "Returns tomorrow's weather of a city",
        annotations: { readOnlyHint: true },
        inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
        handler: ({ city }) => `Rain in ${String(city)}`,
      },
      delete_station: { description: "Deletes a weather station", handler: () => "gone" },
    },
  });

async function startWeather(): Promise<WeatherServers> {
  const primary = makeServer("weather");
  const backup = makeServer("weather-eu");
  let listCount = 0;
  let rejections = 0;
  const intercept = async (request: Request): Promise<Response | undefined> => {
    const method = await methodOf(request.clone());
    if (method === "tools/list") listCount += 1;
    if (method !== "tools/call" || rejections === 0) return undefined;
    rejections -= 1;
    return new Response("busy", { status: 503, headers: { "retry-after": "1" } });
  };
  const close = () => Promise.all([primary.close(), backup.close()]);
  const listening = [primary.http({ intercept }), backup.http({ intercept })] as const;
  const [first, { entry }] = await allOrNone(listening, close);
  const { url } = first;
  let running: TestHttpServer | undefined = first;
  return {
    mcpServers: { weather: { url, fallback: "weather_eu" }, weather_eu: entry },
    get listCount() {
      return listCount;
    },
    rejectNextCall() {
      rejections = 1;
    },
    async stop() {
      await running?.close();
      running = undefined;
    },
    async start() {
      running ??= await primary.http({ intercept, port: Number(new URL(url).port) });
    },
    async close() {
      await close();
    },
  };
}

/** The method of the JSON-RPC message in a request. */
async function methodOf(request: Request): Promise<unknown> {
  if (request.method !== "POST") return undefined;
  return ((await request.json()) as { method?: unknown } | null)?.method;
}
