/** What the gateway's benchmark compares: how each contender is started, and how clients reach it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { fetchNode, fetchTool } from "../../scripts/fetch-tool.mjs";
import { freePort, startHttpServer, startProcesses, stdioServer } from "./processes.mjs";

const programOf = (name) => fileURLToPath(new URL(name, import.meta.url));
const AUDIENCE = "http://127.0.0.1/mcp";
const ISSUER = "https://issuer.example";

let credentials;
/** One key for all gateways of a run. */
async function getCredentials() {
  credentials ??= (async () => {
    const { privateKey, publicKey } = await generateKeyPair("ES256");
    const key = { ...(await exportJWK(publicKey)), kid: "bench", alg: "ES256" };
    const tokenOf = (user) =>
      new SignJWT({ scope: "tools:use" })
        .setProtectedHeader({ alg: "ES256", kid: "bench", typ: "at+jwt" })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(user)
        .setIssuedAt()
        .setExpirationTime("2h")
        .sign(privateKey);
    return { tokenOf, auth: { issuer: ISSUER, audience: AUDIENCE, jwks: { keys: [key] } } };
  })();
  return credentials;
}

/** The headers of a user. */
export const headersOf = async (user) => ({
  authorization: `Bearer ${await (await getCredentials()).tokenOf(user)}`,
});

/** The server behind a contender: `via` is stdio or http. */
async function startUpstream(via, env) {
  if (via === "stdio") return { upstream: stdioServer(env), stop() {} };
  const { url, stop } = await startHttpServer(env);
  return { upstream: { url }, stop };
}

/** A folder that is removed with the contender. */
function createFolder() {
  const folder = mkdtempSync(join(tmpdir(), "toolport-bench-"));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

const floor = (name, via) => ({
  name,
  via,
  era: "legacy",
  async start({ serverEnv }) {
    const { upstream, stop } = await startUpstream(via, serverEnv);
    const processes = await startProcesses(
      process.execPath,
      [programOf("./floor.mjs"), JSON.stringify({ upstream })],
      { ipc: true },
    );
    return { ...processes, url: `http://127.0.0.1:${processes.port}/mcp`, stopUpstream: stop };
  },
});

/** Starts a gateway of Toolport in front of `count` equal servers. */
export const toolport = (name, { via, era, entry = "node", nodeArgs = [], count = 1 }) => ({
  name,
  via,
  era,
  async start({ serverEnv }) {
    const { auth } = await getCredentials();
    const { folder, remove } = createFolder();
    const started = await Promise.all(
      Array.from({ length: count }, () => startUpstream(via, { ERA: era, ...serverEnv })),
    );
    const names = started.map(({ upstream }, index) => [index === 0 ? "bench" : `bench${index}`, upstream]);
    const options = {
      upstreams: Object.fromEntries(names),
      entry,
      auth,
      audit: join(folder, "audit.ndjson"),
    };
    const processes = await startProcesses(
      process.execPath,
      [...nodeArgs, programOf("./toolport.mjs"), JSON.stringify(options)],
      { ipc: true },
    );
    return {
      ...processes,
      url: `http://127.0.0.1:${processes.port}/mcp`,
      headers: await headersOf("user-1"),
      prefix: "bench__",
      stopUpstream() {
        for (const { stop } of started) stop();
        remove();
      },
    };
  },
});

/** A program of another project, at a fixed version. It does not check credentials, and has no policy and no audit file. */
const peer = (
  name,
  { program, version, file, node = 20, via = "stdio", era = "legacy", path = "/mcp", args, prepare },
) => ({
  name,
  via,
  era,
  isPeer: true,
  async start({ serverEnv }) {
    const home = await fetchTool(program, program, version);
    const executable = await fetchNode(node);
    const { folder, remove } = createFolder();
    const { upstream, stop } = await startUpstream(via, serverEnv);
    const port = await freePort();
    prepare?.(folder, upstream);
    const processes = await startProcesses(
      executable,
      [join(home, file), ...args({ port: String(port), upstream, folder })],
      { env: { ...serverEnv, HOME: folder } },
    );
    return {
      ...processes,
      url: `http://127.0.0.1:${port}${path}`,
      stopUpstream() {
        stop();
        remove();
      },
    };
  },
});

const supergateway = peer("supergateway 4.0.0", {
  program: "supergateway",
  version: "4.0.0",
  file: "dist/index.js",
  args: ({ port, upstream }) => [
    ...["--stdio", `${upstream.command} ${upstream.args.join(" ")}`, "--outputTransport", "streamableHttp"],
    ...["--stateful", "--logLevel", "none", "--port", port],
  ],
});

const mcpProxy = (era) =>
  peer(`mcp-proxy 6.7.19, ${era}`, {
    program: "mcp-proxy",
    version: "6.7.19",
    file: "dist/bin/mcp-proxy.mjs",
    era,
    args: ({ port, upstream }) => [
      ...["--server", "stream", "--host", "127.0.0.1", "--port", port],
      ...["--", upstream.command, ...upstream.args],
    ],
  });

const mcporter = (via) =>
  peer("mcporter 0.12.3", {
    program: "mcporter",
    version: "0.12.3",
    file: "dist/cli.js",
    node: 24,
    via,
    path: "/mcp/bench",
    prepare(folder, upstream) {
      const entry = { ...upstream, lifecycle: "keep-alive" };
      writeFileSync(
        join(folder, "mcporter.json"),
        JSON.stringify({ mcpServers: { bench: entry }, imports: [] }),
      );
    },
    args: ({ port, folder }) => ["--config", join(folder, "mcporter.json"), "serve", "--http", port],
  });

export const FLOOR = {
  stdio: floor("hand-written proxy → stdio", "stdio"),
  http: floor("hand-written proxy → HTTP", "http"),
};

/** The gateways of Toolport for one kind of server. */
export const gateways = (via) =>
  ["legacy", "modern"].map((era) =>
    toolport(`Toolport → ${via === "http" ? "HTTP" : via}, ${era}`, { via, era }),
  );

/** `gateway.fetch` on Node: behind the usual adapter for `fetch` handlers, and with Node's own `Request` and `Response`. */
export const fetchGateways = [
  toolport("Toolport `fetch`, @hono/node-server → stdio, modern", {
    via: "stdio",
    era: "modern",
    entry: "adapter",
  }),
  toolport("Toolport `fetch`, bare → stdio, modern", { via: "stdio", era: "modern", entry: "fetch" }),
];

export const PEERS = {
  stdio: [supergateway, mcpProxy("legacy"), mcpProxy("modern"), mcporter("stdio")],
  http: [mcporter("http")],
};
