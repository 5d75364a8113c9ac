/** A process that writes an audit log is killed again and again; the log stays verifiable, and an attack on it is found. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { transpileEverything } from "../../../test/fixtures/oauth-worker-source.js";
import { createCommandLinePlace, ended } from "../../../test/support/command-line.js";
import { startRedis, withoutRedis } from "../../../test/support/redis-service.js";
import { useServer } from "../../../test/support/use-server.js";
import { redisStore } from "../../stores/src/redis/index.js";
import { openAudit } from "../src/audit/open-audit.js";
import type { AuditReport } from "../src/audit/verify-audit.js";
import { loadGatewayKeys } from "../src/replicas/gateway-key.js";
import { createSeal } from "../src/replicas/seal.js";

const HOST = fileURLToPath(new URL("../../../test/fixtures/hosts/audit-host.mjs", import.meta.url));
const ROUNDS = 6;

const source = useServer(() => transpileEverything({ useBuild: false }));

/** Kills the host after it has reported `count` requests. Returns the number of the last one it reported. */
async function writeAndKill(args: readonly string[], count: number): Promise<number> {
  const host: ChildProcess = spawn(
    process.execPath,
    [HOST, pathToFileURL(`${source.folder}/`).href, ...args],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const exited = once(host, "close");
  let output = "";
  for await (const chunk of host.stdout!.setEncoding("utf8")) {
    output += chunk;
    if (output.split("\n").length > count) host.kill("SIGKILL");
  }
  expect((await exited)[1]).toBe("SIGKILL");
  return Number(output.split("\n").at(-2));
}

describe.each(["batch", "call"])("a log that is written per %s", (write) => {
  it("is whole after every kill, and the command line finds an attack on it", {
    timeout: 60_000,
  }, async () => {
    using place = createCommandLinePlace();
    const state = join(place.home, "state.json");
    // The command line uses the JSON file beside it, because there is no database.
    const database = join(place.home, "state.db");
    const log = join(place.project, "audit.ndjson");
    const run = async (...words: string[]) => {
      const main = join(source.folder, "cli", "main.js");
      const child = spawn(process.execPath, [main, "audit", "verify", "audit.ndjson", ...words], {
        cwd: place.project,
        env: { ...place.env },
        stdio: "pipe",
      });
      child.stdin.end();
      return ended(child);
    };
    const verify = async () => {
      const { code, stdout, stderr } = await run("--state", database, "--json");
      expect(stderr).toBe("");
      return { code, report: JSON.parse(stdout) as AuditReport & { problem?: { file: string } } };
    };

    let reported = 0;
    for (let round = 1; round <= ROUNDS; round++)
      reported += await writeAndKill([state, log, write], round * 150);
    const { code, report } = await verify();
    expect(report.problem).toBeUndefined();
    expect(code).toBe(0);
    expect(report).toMatchObject({ chains: ROUNDS, openChains: ROUNDS });
    // Written before it was reported: nothing that was reported is lost.
    if (write === "call") expect(report.lines - ROUNDS).toBeGreaterThanOrEqual(reported);

    const text = await readFile(log, "utf8");
    // As after a loss of power: the end of the last line is missing.
    await truncate(log, Buffer.byteLength(text) - 20);
    expect(await verify()).toMatchObject({ code: 0, report: { cutLines: report.cutLines + 1 } });

    const lines = text.split("\n");
    const victim = 40;
    await writeFile(log, lines.toSpliced(victim, 1).join("\n"));
    expect(await verify()).toMatchObject({
      code: 1,
      report: { problem: { kind: "missing", file: "audit.ndjson", line: victim + 1 } },
    });
    await writeFile(log, lines.with(victim, lines[victim]!.replace("user-", "user_")).join("\n"));
    expect(await run("--state", database)).toMatchObject({
      code: 1,
      stdout: `audit.ndjson:${victim + 1}: changed: this line was changed: its hash does not match\n`,
      stderr: `The ${victim} lines before it are as they were written\n`,
    });
    // Another state has other keys, or none.
    expect(await run("--no-state")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("no keys of a gateway"),
    });
    expect(await verify()).toMatchObject({
      code: 1,
      report: { problem: { kind: "changed", line: victim + 1 } },
    });
  });
});

it.skipIf(withoutRedis)("the keys of a gateway over Redis verify its log", async () => {
  using place = createCommandLinePlace();
  await using redis = await startRedis();
  const key = randomBytes(32).toString("base64");
  const log = join(place.project, "audit.ndjson");
  const store = redisStore(redis.url, { key });
  const keys = await loadGatewayKeys(store);
  const audit = await openAudit(log, { mac: createSeal(keys).mac, replica: "r1", logger: console });
  audit.record({ method: "ping", outcome: "ok", durationMs: 1 });
  await audit.close();
  keys.close();
  await store.close();
  const child = spawn(
    process.execPath,
    [join(source.folder, "cli", "main.js"), "audit", "verify", "audit.ndjson"],
    {
      cwd: place.project,
      env: { ...place.env, TOOLPORT_STORE: redis.url, TOOLPORT_STORE_KEY: key },
      stdio: "pipe",
    },
  );
  child.stdin.end();
  expect(await ended(child)).toMatchObject({
    code: 0,
    stdout: "3 lines in 1 chain are as they were written\n",
  });
});
