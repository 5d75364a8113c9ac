/** How long `toolport serve` takes from the start of its process to its first answer. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { median } from "../process-figures.mjs";
import { connectClient } from "./client.mjs";
import { freePort, stdioServer } from "./processes.mjs";

const CLI = fileURLToPath(new URL("../../packages/toolport/dist/cli/main.js", import.meta.url));

export async function measureStart({ rounds }) {
  const folder = mkdtempSync(join(tmpdir(), "toolport-bench-"));
  try {
    const config = join(folder, "mcp.json");
    writeFileSync(config, JSON.stringify({ mcpServers: { bench: stdioServer() } }));
    const times = [];
    // The first round reads the files of the program from the disk.
    for (let round = 0; round <= rounds; round += 1) {
      const ms = await startOnce(config, folder);
      if (round > 0) times.push(ms);
    }
    const value = median(times);
    const limit = 500;
    return [
      { name: "process start to first answer, ms", value: value.toFixed(0), limit, isMet: value <= limit },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startOnce(config, folder) {
  const port = await freePort();
  const begin = performance.now();
  const args = ["serve", "--config", config, "--yes", "--http", `127.0.0.1:${port}`, "--no-token"];
  const env = { PATH: process.env.PATH, HOME: folder, XDG_STATE_HOME: folder };
  const child = spawn(process.execPath, [CLI, ...args], { env, stdio: ["ignore", "ignore", "inherit"] });
  const ended = once(child, "exit");
  const client = await connectClient({ url: `http://127.0.0.1:${port}/mcp`, era: "modern" });
  const ms = performance.now() - begin;
  client.close();
  child.kill();
  await ended;
  return ms;
}
