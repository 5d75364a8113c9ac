/** The servers of the demo: a real one per transport, one that requires a login, and two that fail. */
import { createHash, randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { TestHttpServer, TestServer, TestServerDefinition, TestTool } from "@toolport/testing";
import { openTestServer } from "@toolport/testing/internal";

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

/** Creates a test server that needs no package beside toolport, and closes it at the end. */
type CreateServer = (definition: TestServerDefinition) => TestServer;

/** Starts the servers that listen. The stdio servers are started when a port connects. */
export async function startServers() {
  const running: TestServer[] = [];
  const create: CreateServer = (definition) => {
    const server = openTestServer(definition, () => import("./server-sdk.js"));
    running.push(server);
    return server;
  };
  const close = () => Promise.all(running.map((server) => server.close()));
  let probeCount = 0;
  const intercept = async (request: Request) => {
    if ((await methodOf(request)) === "server/discover") probeCount++;
    return undefined;
  };
  try {
    const legacy = create({ name: "calendar", era: "legacy", tools: { days_between: daysBetween } });
    const modern = create({ name: "units", era: "modern", tools: { to_fahrenheit: toFahrenheit } });
    const calendar = await legacy.http({ intercept });
    const units = await modern.http({ intercept });
    const dictionary = await create({ name: "dictionary", tools: { define } }).sse();
    const relay = await create({ name: "relay", tools: { reverse } }).webSocket();
    const weather = await startWeather(create);
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
      vault: await startVault(create),
      /** Number of protocol probes sent to `calendar` and `units`. */
      get probeCount() {
        return probeCount;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

export type WeatherServers = Awaited<ReturnType<typeof startWeather>>;

const WEATHER_TOOLS: Readonly<Record<string, TestTool>> = {
  forecast: {
    description: "Returns tomorrow's weather of a city",
    annotations: { readOnlyHint: true },
    inputSchema: takes({ city: text }),
    handler: ({ city }) => `Rain in ${String(city)}`,
  },
  delete_station: { description: "Deletes a weather station", handler: () => "gone" },
};

/** Two servers with the same tools. The second is the fallback of the first. */
async function startWeather(create: CreateServer) {
  const primary = create({ name: "weather", tools: WEATHER_TOOLS });
  const backup = create({ name: "weather-eu", tools: WEATHER_TOOLS });
  let listCount = 0;
  let rejections = 0;
  const intercept = async (request: Request): Promise<Response | undefined> => {
    const method = await methodOf(request);
    if (method === "tools/list") listCount += 1;
    if (method !== "tools/call" || rejections === 0) return undefined;
    rejections -= 1;
    return new Response("busy", { status: 503, headers: { "retry-after": "1" } });
  };
  let running: TestHttpServer | undefined = await primary.http({ intercept });
  const { url } = running;
  const { entry } = await backup.http({ intercept });
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
  };
}

/** The method of the JSON-RPC message in a request, whose body stays readable. */
async function methodOf(request: Request): Promise<unknown> {
  if (request.method !== "POST") return undefined;
  return ((await request.clone().json()) as { method?: unknown } | null)?.method;
}

export type VaultServer = Awaited<ReturnType<typeof startVault>>;

/** A server that requires a login, and is its own authorization server. */
async function startVault(create: CreateServer) {
  const authorization = createAuthorization();
  const vault = create({
    name: "vault",
    tools: {
      open: {
        description: "Opens the vault",
        inputSchema: { type: "object", properties: {} },
        handler: () => "the vault is open",
      },
    },
  });
  const intercept = (request: Request) => {
    const { origin, pathname } = new URL(request.url);
    if (pathname !== "/mcp") return authorization.answer(request);
    const token = request.headers.get("authorization")?.replace(/^Bearer /, "") ?? "";
    if (authorization.isValid(token)) return undefined;
    const challenge = `Bearer resource_metadata="${origin}${METADATA_PATH}"`;
    return new Response(null, { status: 401, headers: { "www-authenticate": challenge } });
  };
  return { server: await vault.http({ anyPath: true, intercept }), authorization };
}

const METADATA_PATH = "/.well-known/oauth-protected-resource";

const json = (body: unknown, status = 200) =>
  Response.json(body, { status, headers: { "cache-control": "no-store" } });

function createAuthorization() {
  /** By code. */
  const grants = new Map<string, { readonly challenge: string; readonly redirectUri: string }>();
  const accessTokens = new Set<string>();
  const refreshTokens = new Set<string>();
  /** Requests so far. */
  const counts = { tokens: 0, logins: 0 };

  function authorize({ origin, searchParams }: URL): Response {
    counts.logins += 1;
    const parameter = (name: string) => searchParams.get(name) ?? "";
    const redirectUri = parameter("redirect_uri");
    const code = randomUUID();
    grants.set(code, { challenge: parameter("code_challenge"), redirectUri });
    const back = new URL(redirectUri);
    back.search = new URLSearchParams({ code, state: parameter("state"), iss: origin }).toString();
    return new Response(null, { status: 302, headers: { location: back.href } });
  }

  /** Accepts each code once, with its PKCE verifier, and each refresh token once. */
  function mayHaveTokens(form: URLSearchParams): boolean {
    const field = (name: string) => form.get(name) ?? "";
    if (field("grant_type") === "refresh_token") return refreshTokens.delete(field("refresh_token"));
    const grant = grants.get(field("code"));
    grants.delete(field("code"));
    const challenge = createHash("sha256").update(field("code_verifier")).digest("base64url");
    return grant?.challenge === challenge && grant.redirectUri === field("redirect_uri");
  }

  async function token(request: Request): Promise<Response> {
    counts.tokens += 1;
    if (!mayHaveTokens(new URLSearchParams(await request.text())))
      return json({ error: "invalid_grant" }, 400);
    const [access, refresh] = [randomUUID(), randomUUID()];
    accessTokens.add(access);
    refreshTokens.add(refresh);
    return json({ access_token: access, refresh_token: refresh, token_type: "Bearer", expires_in: 3_600 });
  }

  async function answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const { origin: issuer, pathname } = url;
    if (pathname.startsWith(METADATA_PATH))
      return json({ resource: `${issuer}/mcp`, authorization_servers: [issuer] });
    switch (pathname) {
      case "/.well-known/oauth-authorization-server":
        return json({
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          registration_endpoint: `${issuer}/register`,
          response_types_supported: ["code"],
          grant_types_supported: ["authorization_code", "refresh_token"],
          code_challenge_methods_supported: ["S256"],
          token_endpoint_auth_methods_supported: ["none"],
          authorization_response_iss_parameter_supported: true,
        });
      case "/register":
        return json({ ...((await request.json()) as object), client_id: randomUUID() }, 201);
      case "/authorize":
        return authorize(url);
      case "/token":
        return token(request);
      default:
        return json({ error: "not_found" }, 404);
    }
  }

  return {
    answer,
    counts,
    isValid: (accessToken: string): boolean => accessTokens.has(accessToken),
    /** Makes all access tokens invalid. */
    expireTokens: () => accessTokens.clear(),
  };
}
