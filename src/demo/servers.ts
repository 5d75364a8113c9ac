/** The servers of the demo: a real one per transport, and two that fail. */
import { fileURLToPath } from "node:url";
import type { ServerEntry, WebSocketServerEntry } from "../index.js";
import type { TestHttpServer, TestStreamServer, TestTool } from "../testing/index.js";
import { allOrNone } from "./all-or-none.js";
import { createDemoServer } from "./create-demo-server.js";
import { startVault, type VaultServer } from "./vault-server.js";
import { methodOf, startWeather, type WeatherServers } from "./weather.js";

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
