/** `console` and `demo` as programs: the console serves its page, and the demo runs with a real model. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { cp } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createTestServer } from "@toolport/testing";
import { expect, test } from "vitest";
import { useProgram } from "../../../test/support/cli-sandbox.js";
import { ended } from "../../../test/support/command-line.js";
import { startRecordingHttpServer } from "../../../test/support/recording-http-server.js";
import { hasTerminal, openTerminal } from "../../../test/support/terminal.js";
import { waitFor } from "../../../test/support/wait-for.js";
import { startModelDouble } from "../../adapters/test/model-double.js";

const createSandbox = useProgram();

const built = fileURLToPath(new URL("../../toolport/dist/cli/main.js", import.meta.url));
/** The build creates the page. */
const page = fileURLToPath(new URL("../../toolport/dist/console/page", import.meta.url));

async function copyPage(main: string): Promise<void> {
  if (main !== built) await cp(page, join(dirname(main), "../console/page"), { recursive: true });
}

test.skipIf(!existsSync(page))(
  "console (needs a build) prints its URL, serves the page, and ends at Ctrl-C",
  async () => {
    using sandbox = createSandbox();
    const server = createTestServer({ tools: { hello: { handler: () => "hi" } } });
    try {
      const { url } = await server.http();
      await sandbox.write("home/.config/toolport/toolport.json", { mcpServers: { greeter: { url } } });
      await copyPage(sandbox.main);
      let child: ChildProcess | undefined;
      let shown = "";
      const running = sandbox.runWith(
        {
          onStart: (started) => {
            child = started;
            started.stdout?.on("data", (chunk) => {
              shown += String(chunk);
            });
          },
        },
        ...["console", "--json"],
      );
      await waitFor(() => shown.includes("\n"), { label: "the address" });
      const { url: address } = JSON.parse(shown) as { url: string };
      expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#t=/);
      const answer = await fetch(address);
      expect(answer.status).toBe(200);
      expect(await answer.text()).toContain("<html");
      child?.kill("SIGINT");
      expect((await running).code).toBe(130);
      await expect(fetch(address)).rejects.toThrow();
    } finally {
      await server.close();
    }
  },
);

test.skipIf(!existsSync(page))("console (needs a build) starts without any server", async () => {
  using sandbox = createSandbox();
  await copyPage(sandbox.main);
  let child: ChildProcess | undefined;
  let shown = "";
  const onStart = (started: ChildProcess) => {
    child = started;
    started.stdout?.on("data", (chunk) => {
      shown += String(chunk);
    });
  };
  const running = sandbox.runWith({ onStart }, "console", "--json");
  await waitFor(() => shown.includes("\n"), { label: "the address" });
  const { origin, hash } = new URL((JSON.parse(shown) as { url: string }).url);
  const answer = await fetch(`${origin}/api/state`, {
    method: "POST",
    headers: { authorization: `Bearer ${hash.slice(3)}`, "content-type": "application/json" },
    body: "{}",
  });
  expect(await answer.json()).toMatchObject({ value: { servers: [], canAnswer: true } });
  child?.kill("SIGINT");
  expect((await running).code).toBe(130);
});

test.skipIf(!existsSync(page) || !hasTerminal)(
  "console leaves out a project's server without consent (needs a build and a terminal)",
  async () => {
    using sandbox = createSandbox();
    await using projectServer = await startRecordingHttpServer();
    await using own = await startRecordingHttpServer();
    await sandbox.write("home/.config/toolport/toolport.json", {
      mcpServers: { mine: { url: `${own.origin}/mcp` } },
    });
    await sandbox.write("project/.mcp.json", {
      mcpServers: { theirs: { url: `${projectServer.origin}/mcp` } },
    });
    await copyPage(sandbox.main);
    const terminal = openTerminal([process.execPath, sandbox.main, "console"], {
      cwd: sandbox.project,
      env: { ...sandbox.env },
    });
    try {
      await terminal.waitForText('Allow "theirs"? [y/N] ');
      expect(terminal.shown).not.toContain("#t=");
      terminal.type("n\r");
      await terminal.waitForText("Press Ctrl-C to stop");
      const [, origin = "", token = ""] =
        /(http:\/\/127\.0\.0\.1:\d+)\/#t=([\w-]+)/.exec(terminal.shown) ?? [];
      const post = async (action: string, body: object) =>
        fetch(`${origin}/api/${action}`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify(body),
        });
      const { value } = (await (await post("state", {})).json()) as {
        value: { servers: { name: string }[] };
      };
      expect(value.servers.map(({ name }) => name)).toEqual(["mine"]);
      const refused = await (await post("connect", { server: "theirs", consent: true })).json();
      expect(refused).toMatchObject({ error: { code: "UNKNOWN_SERVER" } });
      expect(projectServer.connections).toBe(0);
      terminal.type("\u0003");
      expect(await terminal.ended).toBe(130);
    } finally {
      terminal.kill();
    }
  },
);

test("runs the demo's agent with a real model with --model-url", async () => {
  if (!existsSync(built)) throw new Error("dist is missing. Run `npm run build` first.");
  using sandbox = createSandbox();
  await using model = await startModelDouble([
    [{ name: "search_tools", args: { query: "days between dates" } }],
    [
      {
        name: "call_tool",
        args: { name: "calendar__days_between", arguments: { from: "2026-01-01", to: "2026-12-24" } },
      },
      { name: "call_tool", args: { name: "units__to_fahrenheit", arguments: { celsius: 21 } } },
    ],
    "There are 357 days, and 21 °C are 69.8 °F.",
  ]);
  const options = ["--json", "--model-url", `${model.url}/v1`, "--model", "double"];
  const child = spawn(process.execPath, [built, "demo", ...options], { env: sandbox.env, stdio: "pipe" });
  const { code, stdout } = await ended(child);
  const report = JSON.parse(stdout) as {
    ok: boolean;
    steps: { id: string; ok: boolean; title: string; details: string[]; error?: string }[];
  };
  expect(report.steps.filter(({ ok }) => !ok)).toEqual([]);
  const agent = report.steps.find(({ id }) => id === "agent")!;
  expect(agent.title).toBe("Let double find and call tools through search");
  expect(agent.details[0]).toMatch(/^a real model is used: double at 127\.0\.0\.1:/);
  expect(agent.details.join("\n")).toContain("model: There are 357 days");
  expect({ code, ok: report.ok }).toEqual({ code: 0, ok: true });
});
