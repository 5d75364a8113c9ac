/** A console on a port with servers of every kind, working and broken. */
import { deflateSync } from "node:zlib";
import type { WebSocketServerEntry } from "@toolport/core";
import { createToolport, memoryStore, type Toolport } from "toolport";
import { createTestServer, type TestServer, type TestStreamServer } from "toolport/testing";
import { type OAuthBench, startOAuthBench } from "../../../test/support/oauth-bench.js";
import { freePort } from "../../../test/support/program-on-port.js";
import { type RunningConsole, startConsole } from "../src/start-console.js";
import { buildPage } from "./build-page.js";

export interface ConsoleBench extends AsyncDisposable {
  readonly toolport: Toolport;
  readonly console: RunningConsole;
  readonly weather: TestServer;
  readonly oauth: OAuthBench;
  /** Makes the server `weather` reject calls, so that its fallback responds. */
  rejectCalls: boolean;
  stopRelay(): Promise<void>;
  startRelay(): Promise<void>;
}

/** Text that an unsafe page would render as markup. */
export const HOSTILE = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>\u001b[31m\u202e`;

const place = {
  type: "object",
  description: "Coordinates, where the city has no name",
  properties: { latitude: { type: "number" }, longitude: { type: "number" } },
  required: ["latitude", "longitude"],
};

const forecastSchema = {
  type: "object",
  properties: {
    city: { type: "string", description: "Name of the city", examples: ["Oslo"] },
    days: { type: "integer", description: "How many days ahead", default: 3 },
    units: { enum: ["metric", "imperial"], description: "How to write temperatures" },
    details: { type: "boolean", description: "Wind and rain, hour by hour" },
    alerts: { type: "array", items: { type: "string" }, description: "Kinds of alerts to include" },
    place: { anyOf: [{ $ref: "#/$defs/place" }, { type: "null" }] },
    extra: { description: "Anything else, as JSON" },
  },
  required: ["city"],
  $defs: { place },
};

function defineWeather(name: string): TestServer {
  return createTestServer({
    name,
    tools: {
      forecast: {
        title: "Forecast",
        description: "The weather of the next days in a city, with temperatures, wind and rain.",
        inputSchema: forecastSchema,
        annotations: { readOnlyHint: true },
        handler: (args) => ({ structuredContent: { ...args, sky: "clear", high: 14, low: 6 } }),
      },
      radar: {
        title: "Radar image",
        description: "Rain over the region, as an image.",
        handler: () => [
          { type: "text", text: "Rain over the region, 12:00" },
          { type: "image", mimeType: "image/png", data: radarImage().toString("base64") },
        ],
      },
    },
  });
}

export async function startConsoleBench(): Promise<ConsoleBench> {
  const ends: (() => Promise<void>)[] = [];
  const use = <Thing extends AsyncDisposable>(thing: Thing): Thing => {
    ends.push(async () => thing[Symbol.asyncDispose]());
    return thing;
  };
  const page = await buildPage();
  ends.push(page.remove);
  const oauth = use(await startOAuthBench());
  const weather = use(defineWeather("weather"));
  const spare = use(defineWeather("weather-eu"));
  const notes = use(
    createTestServer({
      name: "notes",
      tools: {
        add_note: {
          description: "Writes a note down",
          inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
          handler: (args) => `Noted: ${String(args["text"])}`,
        },
      },
    }),
  );
  const docs = use(
    createTestServer({
      name: "docs",
      tools: {
        hostile: { description: HOSTILE, handler: () => HOSTILE },
        unusable: { inputSchema: { type: "array" }, handler: () => "never" },
      },
      resources: {
        "docs://index": { name: "Index", description: "All pages", text: "# Index\n\nInstall, use, repair" },
      },
      resourceTemplates: {
        "docs://{page}": {
          name: "Page",
          read: (uri) => `The page ${uri}`,
          complete: {
            page: (value) => ["install", "introduction", "repair"].filter((name) => name.startsWith(value)),
          },
        },
      },
      prompts: {
        review: {
          description: "Asks for a review of a page",
          arguments: [{ name: "page", description: "Which page", required: true }],
          complete: {
            page: (value) => ["install", "introduction", "repair"].filter((name) => name.startsWith(value)),
          },
          get: (args) => `Please review ${args["page"]}.`,
        },
      },
    }),
  );
  const relay = use(
    createTestServer({
      name: "relay",
      tools: { reverse: { description: "Turns a text around", handler: () => "olleh" } },
    }),
  );
  let rejectCalls = false;
  const weatherHttp = await weather.http({
    intercept: async (request) => {
      if (!rejectCalls || request.method !== "POST") return undefined;
      const text = await request.clone().text();
      return text.includes('"tools/call"') ? new Response(null, { status: 503 }) : undefined;
    },
  });
  const relayPort = await freePort();
  const openRelay = () => relay.webSocket({ port: relayPort });
  let relayServer: TestStreamServer<WebSocketServerEntry> = await openRelay();
  const store = memoryStore();
  const toolport = createToolport({
    mcpServers: {
      weather: { ...weatherHttp.entry, fallback: "weather-eu" },
      "weather-eu": { ...(await spare.http()).entry },
      notes: (await notes.stdio()).entry,
      docs: { ...(await docs.http()).entry, defer: true },
      relay: { ...relayServer.entry, reconnect: { enabled: true, maxAttempts: 60, delayMs: 2_000 } },
      vault: { url: oauth.url, oauth: true },
      reports: { command: "reports-mcp-server", args: ["--quarterly"] },
    },
    store,
    callbackUrl: `http://127.0.0.1:${await freePort()}/callback`,
    retry: false,
  });
  use(toolport);
  const console = use(
    await startConsole({
      toolport,
      store,
      sources: { weather: "~/.config/toolport/toolport.json:4", notes: ".mcp.json:12" },
      pageFolder: page.folder,
    }),
  );
  return {
    toolport,
    console,
    weather,
    oauth,
    get rejectCalls() {
      return rejectCalls;
    },
    set rejectCalls(value) {
      rejectCalls = value;
    },
    stopRelay: () => relayServer.close(),
    async startRelay() {
      relayServer = await openRelay();
    },
    async [Symbol.asyncDispose]() {
      for (const end of ends.reverse()) await end();
    },
  };
}

/** Draws a test image. */
function radarImage(): Buffer {
  const [width, height] = [360, 150];
  const rows = Array.from({ length: height }, (_, y) => {
    const row = Buffer.alloc(1 + width * 3);
    for (let x = 0; x < width; x++) {
      const rain = Math.sin(x / 31) * Math.cos(y / 23 + x / 70) + Math.sin((x + 2 * y) / 47);
      const strength = Math.max(0, Math.min(1, rain));
      row[1 + x * 3] = 226 - 190 * strength;
      row[2 + x * 3] = 236 - 110 * strength;
      row[3 + x * 3] = 240 - 60 * strength;
    }
    return row;
  });
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const body = deflateSync(Buffer.concat(rows));
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("IDAT", body),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(checksum(named));
  return Buffer.concat([length, named, sum]);
}

/** CRC-32 as used by PNG. */
function checksum(bytes: Buffer): number {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return (sum ^ 0xffffffff) >>> 0;
}
