/** The output of `npm start`: every step passes, stdout has one document, nothing is left running. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const main = fileURLToPath(new URL("../../packages/toolport/dist/cli/main.js", import.meta.url));
const run = promisify(execFile);
/** A closed port: the demo uses loopback only, so no request may go through the proxy. */
const DEAD_PROXY = "http://127.0.0.1:9";
const env = { ...process.env, HTTP_PROXY: DEAD_PROXY, HTTPS_PROXY: DEAD_PROXY, ALL_PROXY: DEAD_PROXY };
const demo = (...flags: string[]) =>
  run(process.execPath, [main, "demo", ...flags], { cwd: root, timeout: 100_000, env }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code: code as number | null, stdout, stderr }),
  );

interface Report {
  ok: boolean;
  servers: {
    server: string;
    transport: string;
    era: string | null;
    state: string;
    error?: { code: string; errno?: string; exitCode?: number; stderrTail?: string };
  }[];
  ms: number;
  steps: { id: string; ok: boolean; ms: number; details: string[]; error?: string }[];
}

const STEPS = [
  ...["start", "connect", "list", "catalog", "call", "agent", "retry", "fallback"],
  ...["kill", "forget", "drop", "gateway", "remember", "login", "close"],
];

beforeAll(() => {
  if (!existsSync(main)) throw new Error("dist is missing. Run `npm run build` first.");
});

test("--json prints one document in which every step passed", async () => {
  const { code, stdout, stderr } = await demo("--json");
  const report = JSON.parse(stdout) as Report;
  expect(report.steps.filter(({ ok }) => !ok)).toEqual([]);
  expect(report.steps.map(({ id }) => id)).toEqual(STEPS);
  expect({ code, stderr, ok: report.ok }).toEqual({ code: 0, stderr: "", ok: true });

  const ready = report.servers.filter(({ state }) => state === "ready");
  expect(ready.map(({ transport, era }) => `${transport} ${era}`).sort()).toEqual([
    "http legacy",
    "http modern",
    "http modern",
    "http modern",
    "sse legacy",
    "stdio modern",
    "websocket modern",
  ]);
  const broken = report.servers.find(({ server }) => server === "broken");
  expect(broken?.error).toMatchObject({ code: "SPAWN_FAILED", exitCode: 1 });
  expect(broken?.error?.stderrTail).toContain("DEMO_TOKEN is not set");
  const missing = report.servers.find(({ server }) => server === "missing");
  expect(missing?.error).toMatchObject({ code: "SPAWN_FAILED", errno: "ENOENT" });

  const detailsOf = (id: string) => report.steps.find((step) => step.id === id)?.details.join("\n");
  expect(detailsOf("catalog")).toMatch(/second listing: 0 requests/);
  expect(detailsOf("agent")).toMatch(/^a script with simple rules replaces the model/);
  expect(detailsOf("agent")?.match(/script: call_tool /g)).toHaveLength(3);
  expect(detailsOf("gateway")).toMatch(/the SDK's client .* calls to other servers, 0 of them failed/s);
  expect(detailsOf("retry")).toMatch(/second attempt: "Rain in Oslo"/);
  expect(detailsOf("fallback")).toMatch(/beforeFallback: weather → weather_eu .*\nweather_eu responded/);
});

test("--once without a terminal prints the table once, a summary, and no escape sequences", async () => {
  const { code, stdout, stderr } = await demo("--once");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout.match(/server +transport +era +state/g)).toHaveLength(1);
  expect(stdout).toMatch(/All 15 steps passed in \d+\.\d s\./);
  expect(stdout).not.toContain("\u001b");
});

test("an unknown flag is a usage error on stderr", async () => {
  const { code, stdout, stderr } = await demo("--nope");
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain("--nope");
  expect(stderr).toContain("Try: toolport demo --help");
});
