/** Gateways that start themselves: the second one ends, and there is never a third. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { type CliSandbox, useProgram } from "../../../test/support/cli-sandbox.js";
import { processTree, waitForExit } from "../../../test/support/processes.js";
import { waitFor } from "../../../test/support/wait-for.js";

const createSandbox = useProgram();
const lean = fileURLToPath(new URL("../../../test/fixtures/servers/stdio-lean.mjs", import.meta.url));

/** Runs `toolport serve` inside another program. Notes how many of the processes in the file are alive when it starts. */
const WRAPPER = `
import { appendFileSync, readFileSync } from "node:fs";
const { GATEWAY_MAIN: main, GATEWAY_NOTES: notes, GATEWAY_ARGS: args } = process.env;
const isAlive = (pid) => { try { process.kill(pid, 0); return true; } catch { return false; } };
const pids = readFileSync(notes, "utf8").trim().split("\\n").map((line) => Number(line.split(" ")[0]));
appendFileSync(notes, process.pid + " " + (pids.filter(isAlive).length + 1) + "\\n");
process.argv = [process.argv[0], main, ...JSON.parse(args)];
await import(main);
`;

interface Loop {
  /** More fields of the entry. */
  readonly entry?: Readonly<Record<string, unknown>>;
  /** Arguments of the gateway that the entry runs. */
  readonly inner: (file: string) => readonly string[];
  /** Arguments of the outer gateway. */
  readonly outer?: (file: string) => readonly string[];
}

const LOOPS: readonly [name: string, loop: Loop][] = [
  ["the same file", { inner: (file) => ["--config", file] }],
  ["the same file, found by itself", { inner: () => [], outer: () => [] }],
  ["a part of the same file", { inner: (file) => ["--config", file, "--servers", "again"] }],
  [
    "an entry that clears its variables",
    { inner: (file) => ["--config", file], entry: { env: { TOOLPORT_SERVE_CHAIN: "" } } },
  ],
  [
    "an entry that inherits all variables",
    { inner: (file) => ["--config", file], entry: { inheritEnv: true } },
  ],
];

test.each(LOOPS)("a gateway that starts itself with %s ends", async (_name, { entry, inner, outer }) => {
  using sandbox = createSandbox();
  const notes = join(sandbox.home, "notes");
  const wrapper = await sandbox.write("home/again.mjs", WRAPPER);
  const file = sandbox.ownFile;
  const variables = {
    GATEWAY_MAIN: sandbox.main,
    GATEWAY_NOTES: notes,
    GATEWAY_ARGS: JSON.stringify(["serve", ...inner(file)]),
    XDG_CONFIG_HOME: sandbox.env["XDG_CONFIG_HOME"],
    HOME: sandbox.home,
  };
  await sandbox.write("home/.config/toolport/toolport.json", {
    mcpServers: {
      good: { command: process.execPath, args: [lean] },
      again: {
        command: process.execPath,
        args: [wrapper],
        ...entry,
        env: { ...variables, ...(entry?.["env"] as object) },
      },
    },
  });
  const gateway = start(sandbox, outer?.(file) ?? ["--config", file]);
  writeFileSync(notes, `${gateway.child.pid} 1\n`);
  try {
    const names = await gateway.listTools();
    expect(names.filter((name) => name.startsWith("good__"))).not.toEqual([]);
    expect(names.filter((name) => name.startsWith("again__"))).toEqual([]);
    await waitFor(() => gateway.stderr().includes("started by a gateway with the same configuration"), {
      timeoutMs: 10_000,
      label: () => `the reason, in ${gateway.stderr()}`,
    });
    const counts = readFileSync(notes, "utf8")
      .trim()
      .split("\n")
      .map((line) => Number(line.split(" ")[1]));
    expect(counts.length).toBeGreaterThan(1);
    expect(Math.max(...counts)).toBe(2);
  } finally {
    await gateway.end();
  }
});

test("entries that run toolport serve are left out with a note, and start nothing", async () => {
  using sandbox = createSandbox();
  await sandbox.write("home/.config/toolport/toolport.json", {
    mcpServers: { good: { command: process.execPath, args: [lean] } },
  });
  await sandbox.write("home/.cursor/mcp.json", {
    mcpServers: {
      direct: { command: process.execPath, args: [sandbox.main, "serve"] },
      npx: { command: "npx", args: ["-y", "toolport@latest", "serve"] },
    },
  });
  const gateway = start(sandbox, []);
  try {
    const names = await gateway.listTools();
    expect(names.every((name) => name.startsWith("good__"))).toBe(true);
    expect(gateway.stderr()).toMatch(/direct \(.*mcp\.json:\d+\) runs toolport serve and is left out/);
    expect(gateway.stderr()).toMatch(/npx \(.*mcp\.json:\d+\) runs toolport serve and is left out/);
    const below = processTree(gateway.child.pid!).filter(({ command }) => command.endsWith(" serve"));
    expect(below).toEqual([]);
  } finally {
    await gateway.end();
  }
});

interface Started {
  readonly child: ChildProcess;
  readonly stderr: () => string;
  listTools(): Promise<string[]>;
  end(): Promise<void>;
}

function start(sandbox: CliSandbox, args: readonly string[]): Started {
  const child = spawn(process.execPath, [sandbox.main, "serve", "--verbose", ...args], {
    cwd: sandbox.project,
    env: sandbox.env,
    stdio: "pipe",
  });
  let stderr = "";
  child.stderr.on("data", (chunk) => {
    stderr += String(chunk);
  });
  const exited = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  return {
    child,
    stderr: () => stderr,
    async listTools() {
      const clientInfo = { name: "test-client", version: "1" };
      const send = (message: object) =>
        child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
      send({
        id: 1,
        method: "initialize",
        params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo },
      });
      send({ method: "notifications/initialized" });
      send({ id: 2, method: "tools/list", params: {} });
      for await (const line of lines) {
        const { id, result } = JSON.parse(line) as { id?: number; result: { tools: { name: string }[] } };
        if (id === 2) return result.tools.map(({ name }) => name);
      }
      throw new Error(`The gateway ended: ${stderr}`);
    },
    async end() {
      child.stdin.end();
      await exited;
      await waitForExit(child.pid!);
    },
  };
}
