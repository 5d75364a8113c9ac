/** Mutated bytes over the pipes of a real process: garbage between lines, split lines and exits, in any order. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { createToolport } from "toolport";
import { expect } from "vitest";
import { canonicalJson } from "../../packages/base/src/util/canonical-json.js";
import { STDIO_BRIDGE } from "../../packages/testing/src/serve-connection.js";
import { MemoryWorld } from "../support/memory-world.js";
import { waitFor } from "../support/wait-for.js";
import { clientScript, expectHealed, QUICK, RECONNECT, runClientScript, SERVER } from "./client-script.js";
import { fuzzTogether } from "./fuzz-model.js";
import { answerPlans } from "./wire-arbitraries.js";

/** Written before a reply. */
const noise = fc.oneof(
  { weight: 4, arbitrary: fc.constant(Buffer.alloc(0)) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(
        "log line\n",
        "\n\r\n\n",
        '{"half":\n',
        "\u0000\n",
        "[]\n42\nnull\n",
        "10%\r50%\r",
        "\ufeff",
        `${"x".repeat(9_000)}\n`,
      )
      .map((text) => Buffer.from(text)),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from([...bytes, 10])) },
);

const scenario = fc.record({
  era: fc.constantFrom("legacy" as const, "modern" as const),
  plans: answerPlans,
  noises: fc.array(noise, { maxLength: 8 }),
  pieces: fc.integer({ min: 1, max: 40 }),
  steps: clientScript,
});

fuzzTogether("wire over stdio", scenario, async ({ era, plans, noises, pieces, steps }) => {
  const world = new MemoryWorld({ era });
  const left = { plans: [...plans], noises: [...noises] };
  const folder = mkdtempSync(join(tmpdir(), "fuzz-"));
  const sockets = new Set<Socket>();
  const kill = () => {
    for (const socket of sockets) socket.destroy();
  };
  const listener = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => {});
    let rest = "";
    socket.setEncoding("utf8").on("data", (chunk) => {
      const lines = `${rest}${chunk}`.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) answer(socket, JSON.parse(line));
    });
  });

  function answer(
    socket: Socket,
    { id, method, params = {} }: { id?: unknown; method?: string; params?: Record<string, unknown> },
  ): void {
    if (id === undefined || method === undefined) return;
    const honest = world.honest({ id, method, params }) as Record<string, unknown> | undefined;
    const plan = left.plans.shift();
    const messages = plan === undefined ? [honest] : plan(honest, { id, method });
    socket.write(left.noises.shift() ?? "");
    if (messages === "die") return kill();
    for (const message of messages) {
      if (message === "die") socket.end();
      else if (message !== undefined)
        writeInPieces(socket, Buffer.from(`${canonicalJson(message)}\n`), pieces);
    }
  }

  const path = join(folder, "s");
  await new Promise<void>((resolve) => listener.listen(path, resolve));
  const toolport = createToolport({
    ...QUICK,
    // Starting a process takes time.
    connectTimeoutMs: 2_000,
    mcpServers: {
      [SERVER]: { command: process.execPath, args: ["-e", STDIO_BRIDGE, path], restart: RECONNECT },
    },
  });
  try {
    await runClientScript(toolport, steps, kill);
    left.plans.length = 0;
    left.noises.length = 0;
    await expectHealed(toolport);
  } finally {
    await toolport.close();
    await waitFor(() => sockets.size === 0, { label: "the processes to go" });
    await new Promise((resolve) => listener.close(resolve));
    rmSync(folder, { recursive: true });
  }
  expect(sockets.size).toBe(0);
});

function writeInPieces(socket: Socket, bytes: Buffer, pieces: number): void {
  const size = Math.ceil(bytes.length / pieces);
  for (let at = 0; at < bytes.length; at += size) socket.write(bytes.subarray(at, at + size));
}
