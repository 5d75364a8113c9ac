/**
 * Creates the saved states in test/fixtures/state-0.1 with the code of version 0.1.0.
 *
 *   git worktree add /tmp/toolport-0.1 <last commit of 0.1.0>    # with its node_modules
 *   cd /tmp/toolport-0.1 && npx tsc -p tsconfig.build.json --emitDeclarationOnly false
 *   REDIS_URL=… DATABASE_URL=… node scripts/make-state-fixtures.mjs /tmp/toolport-0.1
 *
 * Both databases must be empty. Records that would expire get more time, so that the files stay usable.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Redis } from "ioredis";
import pg from "pg";
import {
  CALLBACK_URL,
  createWorld,
  MCP_SERVERS,
  NOTES,
  STORE_KEY,
} from "../test/fixtures/state-0.1/world.mjs";

const [source] = process.argv.slice(2);
const { REDIS_URL, DATABASE_URL } = process.env;
if (source === undefined || !REDIS_URL || !DATABASE_URL)
  throw new Error("Usage: REDIS_URL=… DATABASE_URL=… node scripts/make-state-fixtures.mjs <folder of 0.1.0>");
const load = (path) => import(pathToFileURL(join(resolve(source), "dist", path)).href);
const target = fileURLToPath(new URL("../test/fixtures/state-0.1/", import.meta.url));
const FAR_AWAY = Date.UTC(2100, 0);

const { createToolport } = await load("index.js");

/** Does what a program with 0.1 did: users log in, lists are read, a server is added. */
async function fill(store) {
  const world = createWorld();
  const { fetch } = world;
  const options = { mcpServers: MCP_SERVERS, store, fetch, callbackUrl: CALLBACK_URL, pins: "warn" };
  const toolport = createToolport(options);
  const logIn = async (port, server, user) => {
    const { servers } = await port.connect({ servers: [server] });
    const answer = await toolport.handleOAuthCallback(world.logIn(servers[server].authUrl, user));
    if (answer.status !== 200) throw new Error(`${user} could not log in at ${server}`);
    if ((await port.callTool(`${server}__whoami`)).text !== user)
      throw new Error("Logged in as another user");
  };
  await logIn(toolport, "mail", "service");
  await logIn(toolport.as("ada"), "mail", "ada");
  await logIn(toolport, "left", "service");
  await toolport.connect({ servers: ["right"] });
  await toolport.add("notes", NOTES);
  await toolport.close();
  await store.close();
}

const { sqliteStore } = await load("state/stores/sqlite/index.js");
const { redisStore } = await load("state/stores/redis/index.js");
const { postgresStore } = await load("state/stores/postgres/index.js");

const folder = mkdtempSync(join(tmpdir(), "toolport-state-"));
const path = join(folder, "state.db");
await fill(sqliteStore(path, { key: STORE_KEY }));
const { DatabaseSync } = await import("@photostructure/sqlite");
const database = new DatabaseSync(path);
database.exec(`UPDATE toolport_records SET expires_at = ${FAR_AWAY} WHERE expires_at > ${Date.now()}`);
// One file without a separate log.
rmSync(join(target, "state.db"), { force: true });
database.exec(`VACUUM INTO '${join(target, "state.db")}'`);
database.close();
rmSync(folder, { recursive: true });

await fill(redisStore(REDIS_URL, { key: STORE_KEY }));
const redis = new Redis(REDIS_URL);
const commands = [];
for (const key of (await redis.keys("*")).sort()) {
  const type = await redis.type(key);
  if (type === "string") commands.push(["SET", key, await redis.get(key)]);
  else if (type === "hash") commands.push(["HSET", key, ...Object.entries(await redis.hgetall(key)).flat()]);
  else if (type === "zset") {
    const members = await redis.zrange(key, 0, -1, "WITHSCORES");
    const isExpiry = key.includes("expir");
    for (let at = 0; at < members.length; at += 2)
      commands.push(["ZADD", key, isExpiry ? String(FAR_AWAY) : members[at + 1], members[at]]);
  } else throw new Error(`${key} is a ${type}`);
}
redis.disconnect();
writeFileSync(join(target, "redis.json"), `[\n${commands.map((it) => JSON.stringify(it)).join(",\n")}\n]\n`);

await fill(postgresStore(DATABASE_URL, { key: STORE_KEY }));
const client = new pg.Client(DATABASE_URL);
await client.connect();
const { rows } = await client.query("SELECT tablename FROM pg_tables WHERE tablename LIKE '%records'");
await client.query(
  `UPDATE "${rows[0].tablename}" SET expires_at = to_timestamp(${FAR_AWAY / 1000}) WHERE expires_at > now()`,
);
await client.end();
const dump = execFileSync("pg_dump", ["--inserts", "--no-owner", "--no-privileges", DATABASE_URL], {
  encoding: "utf8",
});
const noise = /^(--|\\|SET |SELECT pg_catalog\.set_config|$)/;
writeFileSync(
  join(target, "postgres.sql"),
  `${dump
    .split("\n")
    .filter((line) => !noise.test(line))
    .join("\n")}\n`,
);
