/** The servers of the demo: a real one per transport, one that requires a login, and two that fail. */
import { createHash, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { openTestServer } from "../../testing/create-test-server.js";
import type { TestHttpServer, TestServer, TestServerDefinition, TestTool } from "../../testing/index.js";
import { listenOnLoopback, sendWebResponse, toWebRequest } from "../../testing/serve-connection.js";

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

/** A test server that needs no package beside toolport. */
const createDemoServer = (definition: TestServerDefinition): TestServer =>
  openTestServer(definition, () => import("./server-sdk.js"));

/** Resolves with all results. If one fails, calls `close` after all have settled, and throws the first error. */
async function allOrNone<Started extends readonly unknown[]>(
  starting: { readonly [Index in keyof Started]: Promise<Started[Index]> },
  close: () => Promise<unknown>,
): Promise<Started> {
  const settled = await Promise.allSettled(starting);
  const failed = settled.find((each) => each.status === "rejected");
  if (failed === undefined) return Promise.all(starting) as Promise<unknown> as Promise<Started>;
  await close();
  throw failed.reason;
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

const METADATA_PATH = "/.well-known/oauth-protected-resource";

export type VaultServer = Awaited<ReturnType<typeof startVault>>;

/** A server that requires a login. */
async function startVault() {
  const authorization = await startAuthorizationServer();
  const vault = createDemoServer({
    name: "vault",
    tools: {
      open: {
        description: "Opens the vault",
        inputSchema: { type: "object", properties: {} },
        handler: () => "the vault is open",
      },
    },
  });
  const close = async () => {
    await vault.close();
    await authorization.close();
  };
  const listening = vault.http({
    anyPath: true,
    intercept: (request) => {
      const { origin, pathname } = new URL(request.url);
      if (pathname.startsWith(METADATA_PATH))
        return Response.json({ resource: `${origin}/mcp`, authorization_servers: [authorization.issuer] });
      if (pathname !== "/mcp") return undefined;
      const token = request.headers.get("authorization")?.replace(/^Bearer /, "");
      if (authorization.isValid(token)) return undefined;
      const challenge = `Bearer resource_metadata="${origin}${METADATA_PATH}"`;
      return new Response(null, { status: 401, headers: { "www-authenticate": challenge } });
    },
  });
  const [server] = await allOrNone([listening], close);
  return { server, authorization, close };
}

interface Grant {
  readonly challenge: string;
  readonly redirectUri: string;
}

const json = (body: unknown, status = 200) =>
  Response.json(body, { status, headers: { "cache-control": "no-store" } });

async function startAuthorizationServer() {
  const codes = new Map<string, Grant>();
  const accessTokens = new Set<string>();
  const refreshTokens = new Set<string>();
  /** Requests so far. */
  const counts = { tokens: 0, logins: 0 };
  let issuer = "";

  function authorize({ searchParams }: URL): Response {
    counts.logins += 1;
    const redirectUri = searchParams.get("redirect_uri") ?? "";
    const code = randomUUID();
    codes.set(code, { challenge: searchParams.get("code_challenge") ?? "", redirectUri });
    const back = new URL(redirectUri);
    back.search = new URLSearchParams({
      code,
      state: searchParams.get("state") ?? "",
      iss: issuer,
    }).toString();
    return new Response(null, { status: 302, headers: { location: back.href } });
  }

  /** Accepts each code once, with its PKCE verifier, and each refresh token once. */
  function mayHaveTokens(form: URLSearchParams): boolean {
    if (form.get("grant_type") === "refresh_token")
      return refreshTokens.delete(form.get("refresh_token") ?? "");
    const code = form.get("code") ?? "";
    const grant = codes.get(code);
    codes.delete(code);
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    return grant?.challenge === challenge && grant.redirectUri === form.get("redirect_uri");
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
    switch (url.pathname) {
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

  const listener = createServer((request, response) => {
    toWebRequest(request, response)
      .then(answer)
      .then((answered) => sendWebResponse(answered, response))
      .catch(() => response.destroy());
  });
  const listening = await listenOnLoopback(listener, 0);
  issuer = `http://${listening.address}`;
  return {
    issuer,
    counts,
    isValid: (accessToken: string | undefined): boolean =>
      accessToken !== undefined && accessTokens.has(accessToken),
    /** Makes all access tokens invalid. */
    expireTokens: () => accessTokens.clear(),
    close: () => listening.close(),
  };
}
