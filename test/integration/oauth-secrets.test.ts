/** No secret of an authorization appears in logs, errors, events, spans, files or URLs. */
import { generateKeyPairSync } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { createToolport, type Logger, type ServerEntry, type Toolport, type ToolportEvents } from "toolport";
import { createTestServer } from "toolport/testing";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { type OAuthBench, startOAuthBench } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";
import { makeSqlitePlace, openStore } from "../support/oauth-stores.js";
import { registerOpenTelemetry } from "../support/open-telemetry.js";

// Modules read DEBUG when they are loaded.
vi.hoisted(() => {
  vi.resetModules();
  vi.stubEnv("DEBUG", "toolport:*");
});
afterAll(() => {
  vi.unstubAllEnvs();
  vi.resetModules();
});

/** Each has a distinct value, so that a leak can be identified. */
const CANARY = {
  clientSecret: "canary-client-secret-51b7c6f4",
  assertion: "canary-assertion-7f3a91c2.payload.signature",
  idToken: "canary-id-token-88d1e0aa.payload.signature",
  enterpriseSecret: "canary-enterprise-secret-3aa8",
  header: "canary-header-0c9d2e17",
  env: "canary-env-99112233",
};

const everything = (value: unknown): string =>
  [
    inspect(value, { depth: 20, showHidden: true, getters: true }),
    JSON.stringify(value),
    value instanceof Error ? `${value.message} ${value.stack} ${inspect(value.cause, { depth: 20 })}` : "",
  ].join("\n");

/** Everything visible so far. */
let seen: string[] = [];
let telemetry: ReturnType<typeof registerOpenTelemetry>;
const note = (message: string, details?: unknown) => void seen.push(message, everything(details));
const logger: Logger = { debug: note, info: note, warn: note, error: note };

beforeEach(() => {
  seen = [];
  telemetry = registerOpenTelemetry();
  for (const method of ["log", "info", "warn", "error", "debug"] as const) {
    vi.spyOn(console, method).mockImplementation((...words: unknown[]) => void seen.push(everything(words)));
  }
});
afterEach(async () => {
  vi.restoreAllMocks();
  await telemetry.dispose();
});

const EVENTS: (keyof ToolportEvents)[] = [
  "state",
  "tools",
  "listsChanged",
  "toolChanged",
  "notification",
  "warning",
];

function openPort(entries: Record<string, ServerEntry>, more: object = {}): Toolport {
  const loud = Object.entries(entries).map(([name, entry]) => [
    name,
    { ...entry, logEvents: true, logRequests: true, logResponses: true },
  ]);
  const toolport = createToolport({
    mcpServers: Object.fromEntries(loud) as Record<string, ServerEntry>,
    callbackUrl: CALLBACK_URL,
    logger,
    ...more,
  });
  for (const event of EVENTS) toolport.on(event, (details: unknown) => note(event, details));
  return toolport;
}

/** Records an error in all its forms. */
const noted = (promise: Promise<unknown>) => promise.catch((error: unknown) => note("error", error));

async function look(toolport: Toolport): Promise<void> {
  note("port", toolport);
  note("snapshot", toolport.snapshot());
  note("catalog", await toolport.exportCatalog());
  for (const { name, attributes, events, status } of telemetry.spans())
    note("span", { name, attributes, events, status });
  note("measured", await telemetry.measured());
}

function expectNothingOf(
  secrets: Iterable<[value: string, name: string]>,
  places: Record<string, string>,
): void {
  for (const [place, text] of Object.entries(places)) {
    for (const [value, name] of secrets) {
      const at = text.indexOf(value);
      if (at >= 0) throw new Error(`${name} in ${place}: …${text.slice(Math.max(0, at - 200), at)}<HERE>…`);
    }
  }
}

const ownSecrets = Object.entries(CANARY).map(([name, value]): [string, string] => [value, name]);
const requestLines = (bench: OAuthBench) =>
  [...bench.requestLines, ...bench.resource.seen.map(({ path }) => path)].join("\n");

/** File names, contents and permissions of everything beside the database. */
function readFolder(folder: string): string {
  return readdirSync(folder)
    .map((name) => {
      const path = join(folder, name);
      expect(statSync(path).mode & 0o077, name).toBe(0);
      return `${name}\n${readFileSync(path, "latin1")}`;
    })
    .join("\n");
}

test("a login, refreshes, a step-up and a revocation, saved in a file", async () => {
  const client = {
    client_id: "registered",
    client_secret: CANARY.clientSecret,
    redirect_uris: [CALLBACK_URL],
    grant_types: ["authorization_code", "refresh_token"],
    application_type: "native" as const,
    token_endpoint_auth_method: "client_secret_post" as const,
  };
  await using bench = await startOAuthBench({ clients: [client], scope: "tools:read openid" });
  await using plain = createTestServer({ tools: { hello: { handler: () => "hello" } } });
  const http = await plain.http();
  using place = makeSqlitePlace();
  const store = openStore(place);
  const oauth = { clientId: "registered", clientSecret: CANARY.clientSecret, issuer: bench.issuer };
  const toolport = openPort({ a: { url: bench.url, oauth } }, { store });
  try {
    const { authUrl } = (await toolport.connect()).servers["a"] ?? {};
    const pending = readFolder(place.folder);
    const back = await logIn(authUrl as string);
    // Fails first: with a foreign code, then with a wrong state.
    const forged = new URLSearchParams(back.searchParams);
    forged.set("state", "made-up");
    await noted(toolport.finishAuth("a", forged));
    await toolport.handleOAuthCallback(new Request(back));
    await toolport.callTool("a__whoami");
    await noted(toolport.handleOAuthCallback(new Request(back)));
    bench.expireAccessTokens();
    await toolport.callTool("a__whoami");
    await noted(toolport.callTool("a__erase"));
    await toolport.add("b", { url: http.url, headers: { "x-api-key": CANARY.header } });
    await toolport.register("c", {
      command: process.execPath,
      args: ["-e", ""],
      env: { MY_KEY: CANARY.env },
    });
    await look(toolport);
    const saved = readFolder(place.folder);
    bench.revokeGrants();
    await noted(toolport.callTool("a__whoami"));
    await look(toolport);

    const names = new Set(bench.secrets.values());
    for (const name of ["code", "code_verifier", "access_token", "refresh_token", "id_token"]) {
      expect(names).toContain(name);
    }
    const secrets = [...bench.secrets, ...ownSecrets];
    const places = { sight: seen.join("\n"), URLs: requestLines(bench), pending, saved };
    expectNothingOf(secrets, { ...places, "the closed file": readFolder(place.folder) });
    // The searched texts are not empty.
    expect(seen.join("\n")).toContain("authenticating");
    expect(seen.some((line) => line.startsWith("toolport:") || line.includes("toolport:"))).toBe(true);
    expect(saved.length).toBeGreaterThan(1_000);
    expect(telemetry.spans().length).toBeGreaterThan(0);
  } finally {
    await toolport.close();
    await store.close();
  }
  expectNothingOf([...bench.secrets, ...ownSecrets], { "the file at rest": readFolder(place.folder) });
});

test("secrets of programs: a private key, an assertion, an enterprise's ID token, a refused secret", async () => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = privateKey.export({ format: "jwk" }) as { d: string };
  await using bench = await startOAuthBench();
  const { url, issuer } = bench;
  const program = { clientId: "program", issuer };
  await using toolport = openPort({
    secret: { url, oauth: { ...program, grant: "client_credentials", clientSecret: CANARY.clientSecret } },
    key: { url, oauth: { ...program, grant: "client_credentials", privateKey: jwk as never } },
    workload: { url, oauth: { ...program, grant: "jwt-bearer", assertion: CANARY.assertion } },
    enterprise: {
      url,
      oauth: {
        ...program,
        grant: "enterprise",
        enterprise: {
          issuer,
          clientId: "at-idp",
          clientSecret: CANARY.enterpriseSecret,
          idToken: CANARY.idToken,
        },
      },
    },
  });
  const report = await toolport.connect();
  note("report", report);
  for (const [name, { state, error }] of Object.entries(report.servers)) {
    expect({ name, state }).toEqual({ name, state: expect.stringMatching(/failed|authenticating/) });
    note("error", error);
    await noted(toolport.callTool(`${name}__whoami`));
  }
  await look(toolport);
  expect(bench.countPaths("/token")).toBeGreaterThan(0);
  const secrets: [string, string][] = [...bench.secrets, ...ownSecrets, [jwk.d, "privateKey"]];
  expectNothingOf(secrets, { sight: seen.join("\n"), URLs: requestLines(bench) });
});

test("accepted client credentials: the token goes only to the store and the servers", async () => {
  const client = {
    client_id: "program",
    client_secret: CANARY.clientSecret,
    redirect_uris: [],
    response_types: [],
    grant_types: ["client_credentials"],
    token_endpoint_auth_method: "client_secret_basic" as const,
    scope: "tools:read",
  };
  await using bench = await startOAuthBench({ clients: [client] });
  const oauth = {
    grant: "client_credentials" as const,
    clientId: "program",
    clientSecret: CANARY.clientSecret,
    issuer: bench.issuer,
  };
  await using toolport = openPort({ a: { url: bench.url, oauth } });
  expect((await toolport.connect()).servers["a"]).toMatchObject({ state: "ready" });
  expect((await toolport.callTool("a__whoami")).text).toBe("program");
  bench.expireAccessTokens();
  expect((await toolport.callTool("a__whoami")).text).toBe("program");
  expect(bench.tokenRequests).toEqual(
    [1, 2].map(() => ({ grant: "client_credentials", resource: bench.url, status: 200, error: undefined })),
  );
  await look(toolport);
  expectNothingOf([...bench.secrets, ...ownSecrets], { sight: seen.join("\n"), URLs: requestLines(bench) });
});
