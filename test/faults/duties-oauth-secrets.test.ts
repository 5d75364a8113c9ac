/** Duties towards credentials: bound to their issuer (S8), encrypted in storage (S13). */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { DatabaseSync } from "@photostructure/sqlite";
import { memoryStore } from "toolport";
import { sqliteStore } from "toolport/sqlite";
import { beforeAll, expect } from "vitest";
import { faultCase } from "./fault-case.js";
import {
  askForLogin,
  bytesAt,
  linesOf,
  openBench,
  openHostile,
  openLoggedIn,
  openPort,
  warmUpOAuth,
  whoami,
} from "./oauth-setup.js";

beforeAll(warmUpOAuth, 60_000);

faultCase(
  "S8",
  "another authorization server: registered again, nothing of the old one is sent",
  async (harness) => {
    const bench = await openBench(harness);
    const other = await openBench(harness);
    const hostile = await openHostile(harness);
    const store = memoryStore();
    const toolport = await openLoggedIn(harness, bench, { store });
    const [registered] = bench.clients as { client_id: string }[];
    const before = [...bench.secrets.keys()];
    bench.revokeGrants();
    for (const { origin, seenBytes } of [
      { origin: hostile.origin, seenBytes: () => bytesAt(hostile) },
      { origin: other.issuer, seenBytes: () => other.requestLines.join() },
    ]) {
      bench.namedIssuers = [origin];
      await whoami(toolport).catch(harness.note);
      const authUrl = new URL(await askForLogin(toolport));
      expect(authUrl.origin).toBe(origin);
      expect(authUrl.searchParams.get("client_id")).not.toBe(registered?.client_id);
      for (const secret of before) expect(seenBytes()).not.toContain(secret);
    }
    expect(linesOf(hostile)).toContain("POST /register");
    expect(linesOf(hostile)).not.toContain("POST /token");
    expect(other.countPaths("/reg")).toBe(1);
    expect(other.countTokens()).toBe(0);
  },
);

faultCase("S8", "a client registered by hand belongs to one issuer, named or first met", async (harness) => {
  const secret = harness.secret();
  const hostile = await openHostile(harness);
  const bench = await openBench(harness, {
    clients: [
      {
        client_id: "by-hand",
        client_secret: secret,
        redirect_uris: ["http://127.0.0.1:4545/oauth/callback"],
        grant_types: ["authorization_code", "refresh_token"],
        application_type: "native",
        token_endpoint_auth_method: "client_secret_post",
      },
    ],
  });
  const oauth = { clientId: "by-hand", clientSecret: secret };
  for (const issuer of [{ issuer: bench.issuer }, {}]) {
    bench.namedIssuers = [bench.issuer];
    const toolport = openPort(harness, bench, { oauth: { ...oauth, ...issuer }, store: memoryStore() });
    await askForLogin(toolport);
    bench.namedIssuers = [hostile.origin];
    const { error } = (await toolport.connect()).servers["it"] ?? {};
    harness.note(error);
    expect(error).toMatchObject({ name: "AuthError", code: "ISSUER_MISMATCH" });
  }
  expect(bytesAt(hostile)).not.toContain(secret);
  expect(linesOf(hostile).filter((line) => line.startsWith("POST"))).toEqual([]);
});

/** Every file with its content; each must be private to its owner. */
function readFolder(folder: string): string {
  expect(statSync(folder).mode & 0o777, "mode of the folder").toBe(0o700);
  return readdirSync(folder)
    .map((name) => {
      const path = join(folder, name);
      expect(statSync(path).mode & 0o777, name).toBe(0o600);
      return `${name}\n${readFileSync(path, "latin1")}`;
    })
    .join("\n");
}

faultCase("S13", "files for the owner only, values sealed, no secret visible", async (harness) => {
  const bench = await openBench(harness);
  const folder = join(harness.folder, "state");
  const path = join(folder, "state.db");
  const store = sqliteStore(path);
  harness.atEnd(() => store.close());
  const toolport = await openLoggedIn(harness, bench, { store });
  bench.expireAccessTokens();
  expect(await whoami(toolport)).toBe("ada");
  harness.note(toolport);
  harness.note(await toolport.exportCatalog());
  const saved = readFolder(folder);
  expect(saved).toContain("oauth/tokens/");
  expect(bench.secrets.size).toBeGreaterThanOrEqual(4);
  for (const [secret, name] of bench.secrets) {
    expect(saved, `${name} in the file`).not.toContain(secret);
    expect(inspect(toolport, { depth: 20, showHidden: true }), `${name} when inspected`).not.toContain(
      secret,
    );
  }

  // Authenticated encryption: with one changed letter the record is invalid.
  const [key = ""] = await store.list("oauth/tokens/");
  expect((await store.get(key))?.sealed).toBe(true);
  const database = new DatabaseSync(path);
  database
    .prepare("UPDATE toolport_records SET value = replace(value, substr(value, -9, 4), 'AAAA') WHERE key = ?")
    .run(key);
  database.close();
  await harness.fails(store.get(key), { code: ["CORRUPT", "KEY_MISMATCH"], withinMs: 1_000 });
});
