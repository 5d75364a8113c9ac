/** Two servers that can stand in for each other, one of which fails on request: for names, retries and fallback. */
import type { HttpServerEntry } from "../index.js";
import { createTestServer, type TestHttpServer, type TestServer } from "../testing/index.js";
import { allOrNone } from "./all-or-none.js";

export interface WeatherServers {
  /** The first names the second as its fallback. */
  readonly mcpServers: Readonly<Record<"weather" | "weather_eu", HttpServerEntry>>;
  /** How often either of them was asked for its tools. */
  readonly listCount: number;
  /** Turns away the next call of either with HTTP 503 and `Retry-After: 1`. */
  refuseNextCall(): void;
  /** Ends the first: nobody listens on its port any more. */
  stop(): Promise<void>;
  /** Starts it again, on the same port. */
  start(): Promise<void>;
  close(): Promise<void>;
}

const makeServer = (name: string): TestServer =>
  createTestServer({
    name,
    tools: {
      forecast: {
        description: "Tells tomorrow's weather of a city",
        annotations: { readOnlyHint: true },
        inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
        handler: ({ city }) => `Rain in ${String(city)}`,
      },
      delete_station: { description: "Takes a weather station off the map", handler: () => "gone" },
    },
  });

export async function startWeather(): Promise<WeatherServers> {
  const primary = makeServer("weather");
  const backup = makeServer("weather-eu");
  let listCount = 0;
  let refusals = 0;
  const intercept = async (request: Request): Promise<Response | undefined> => {
    const method = await methodOf(request.clone());
    if (method === "tools/list") listCount += 1;
    if (method !== "tools/call" || refusals === 0) return undefined;
    refusals -= 1;
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
    refuseNextCall() {
      refusals = 1;
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

/** Method of the JSON-RPC message a request carries. */
export async function methodOf(request: Request): Promise<unknown> {
  if (request.method !== "POST") return undefined;
  return ((await request.json()) as { method?: unknown } | null)?.method;
}
