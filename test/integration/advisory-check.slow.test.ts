/** The check for advisories, with a registry that has some, none, or no answer. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const SCRIPT = fileURLToPath(new URL("../../scripts/audit.mjs", import.meta.url));
let lastId = 0;
const advisory = (id: string, severity: string) => ({
  id: ++lastId,
  title: `Trouble ${id}`,
  severity,
  vulnerable_versions: "<2.0.0",
  cwe: [],
  url: `https://github.com/advisories/${id}`,
  cvss: { score: 0, vectorString: null },
});

let folder = "";
let registry: Server | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "toolport-audit-"));
  const wanted = { dependencies: { shipped: "1.0.0" }, devDependencies: { tool: "1.0.0" } };
  const project = { name: "project", version: "1.0.0", ...wanted };
  const packages = {
    "": project,
    "node_modules/shipped": { version: "1.0.0" },
    "node_modules/tool": { version: "1.0.0", dev: true },
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify(project));
  writeFileSync(
    join(folder, "package-lock.json"),
    JSON.stringify({ ...project, lockfileVersion: 3, packages }),
  );
});
afterEach(() => {
  registry?.close();
  registry?.closeAllConnections();
  registry = undefined;
  rmSync(folder, { recursive: true });
});

/** A registry with these advisories, by package; undefined: without an advisory endpoint. */
async function startRegistry(advisories: Record<string, object[]> | undefined): Promise<string> {
  registry = createServer((request, response) => {
    const isQuestion = request.method === "POST" && request.url?.endsWith("/advisories/bulk");
    request.resume();
    if (advisories === undefined || !isQuestion) response.writeHead(isQuestion ? 405 : 404).end();
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(advisories));
  }).listen(0, "127.0.0.1");
  await once(registry, "listening");
  return `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`;
}

async function check(url: string, { accepted = [] as object[], args = [] as string[] } = {}) {
  const list = join(folder, "accepted.json");
  writeFileSync(list, JSON.stringify(accepted));
  const child = spawn(process.execPath, [SCRIPT, "--accepted", list, ...args], {
    cwd: folder,
    // The registry is on this machine; npm would use a proxy of the environment.
    env: {
      ...process.env,
      NO_PROXY: "127.0.0.1",
      npm_config_registry: url,
      npm_config_cache: join(folder, "cache"),
    },
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
  const [code] = await once(child, "close");
  return { code, said };
}

const accept = (id: string, until: string) => ({ id, reason: "The code is never reached", until });

test("fails on any advisory in shipped packages and on severe ones in tools; accepted ones pass until their date", async () => {
  const url = await startRegistry({
    shipped: [advisory("GHSA-low", "low"), advisory("GHSA-fine", "high"), advisory("GHSA-late", "moderate")],
    tool: [advisory("GHSA-mid", "moderate"), advisory("GHSA-big", "high")],
  });
  const accepted = [
    accept("GHSA-fine", "2999-01-01"),
    accept("GHSA-late", "2020-01-01"),
    accept("GHSA-gone", "2999-01-01"),
  ];
  const { code, said } = await check(url, { accepted });
  expect(code).toBe(1);
  for (const line of [
    "FAIL  GHSA-low (low) shipped, production: Trouble GHSA-low",
    "note  GHSA-fine (high) shipped, production: Trouble GHSA-fine; accepted until 2999-01-01: The code is never reached",
    "FAIL  GHSA-late (moderate) shipped, production: Trouble GHSA-late; was accepted until 2020-01-01, look at it again",
    "note  GHSA-mid (moderate) tool, development: Trouble GHSA-mid",
    "FAIL  GHSA-big (high) tool, development: Trouble GHSA-big",
    "note  GHSA-gone is accepted, but no longer reported: remove it from the list",
    "Advisories: 5. Against the rule in SECURITY.md: 3.",
  ])
    expect(said.split("\n")).toContain(line);
});

test("passes without a reason to fail; refuses an accepted entry without reason or date", async () => {
  const url = await startRegistry({ tool: [advisory("GHSA-mid", "moderate")] });
  expect(await check(url)).toMatchObject({
    code: 0,
    said: expect.stringContaining("Advisories: 1. Against the rule in SECURITY.md: 0."),
  });
  const { code, said } = await check(url, { accepted: [{ id: "GHSA-mid" }] });
  expect(code).not.toBe(0);
  expect(said).toContain('needs "id", "reason" and "until"');
});

test("reports a registry that has no advisories or does not answer, and fails only where the check is required", async () => {
  const without = await check(await startRegistry(undefined));
  expect(without.code).toBe(0);
  expect(without.said).toContain(
    "Advisories were NOT checked: the registry could not be asked, it has no list",
  );
  const unreachable = await check("http://127.0.0.1:1/", { args: ["--required"] });
  expect(unreachable.code).toBe(1);
  expect(unreachable.said).toContain("Advisories were NOT checked: the registry could not be asked");
});
