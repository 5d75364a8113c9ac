/** Two servers with the same tools, one of which can be made to fail, for name collisions, retries and fallback. */
import type { HttpServerEntry } from "../index.js";
import type { TestHttpServer, TestServer } from "../testing/index.js";
import { allOrNone } from "./all-or-none.js";
import { createDemoServer } from "./create-demo-server.js";

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

export async function startWeather(): Promise<WeatherServers> {
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
export async function methodOf(request: Request): Promise<unknown> {
  if (request.method !== "POST") return undefined;
  return ((await request.json()) as { method?: unknown } | null)?.method;
}
