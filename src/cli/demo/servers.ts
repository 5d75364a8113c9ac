/** The servers of the demo: a real one per transport, and two that fail. */
import { fileURLToPath } from "node:url";
import type { TestHttpServer, TestServer, TestTool } from "../../testing/index.js";
import { allOrNone, createDemoServer } from "./create-demo-server.js";
import { startVault } from "./vault-server.js";

export type DemoServers = Awaited<ReturnType<typeof startServers>>;

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
export async function startServers() {
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
    /** Streamable HTTP up to 2025-11-25, with sessions. */
    calendar,
    /** Streamable HTTP of 2026-07-28, without sessions. */
    units,
    relay,
    weather,
    vault,
    /** Number of protocol probes sent to `calendar` and `units`. */
    get probeCount() {
      return probeCount;
    },
    close,
  };
}

export type WeatherServers = Awaited<ReturnType<typeof startWeather>>;

const makeServer = (name: string): TestServer =>
  createDemoServer({
    name,
    tools: {
      forecast: {
        description: "Returns tomorrow's weather of a city",
        annotations: { readOnlyHint: true },
        inputSchema: takes({ city: text }),
        handler: ({ city }) => `Rain in ${String(city)}`,
      },
      delete_station: { description: "Deletes a weather station", handler: () => "gone" },
    },
  });

/** Two servers with the same tools. The second is the fallback of the first. */
async function startWeather() {
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
    /** Number of `tools/list` requests to both. */
    get listCount() {
      return listCount;
    },
    /** Rejects the next call to either with HTTP 503 and `Retry-After: 1`. */
    rejectNextCall() {
      rejections = 1;
    },
    /** Stops the first server. */
    async stop() {
      await running?.close();
      running = undefined;
    },
    /** Starts it again, on the same port. */
    async start() {
      running ??= await primary.http({ intercept, port: Number(new URL(url).port) });
    },
    close,
  };
}

/** The method of the JSON-RPC message in a request. */
async function methodOf(request: Request): Promise<unknown> {
  if (request.method !== "POST") return undefined;
  return ((await request.json()) as { method?: unknown } | null)?.method;
}
