/** `toolport list` on a terminal prints each server as it arrives. */
import { EventEmitter } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable, Writable } from "node:stream";
import { createTestServer } from "@toolport/testing";
import { expect, test } from "vitest";
import { createCommandLinePlace } from "../../../test/support/command-line.js";
import { waitFor } from "../../../test/support/wait-for.js";
import { runCommandLine } from "../src/run-command-line.js";

/** The timeout of the silent server. The test ends long before. */
const TIMEOUT_MS = 600_000;

class Screen extends Writable {
  readonly isTTY = true;
  text = "";

  constructor(readonly columns: number) {
    super();
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString("utf8");
    done();
  }
}

function openList(place: ReturnType<typeof createCommandLinePlace>, columns: number) {
  const screen = new Screen(columns);
  const signals = new EventEmitter();
  const ended = runCommandLine({
    args: ["list", "--yes", "--timeout", String(TIMEOUT_MS)],
    stdout: screen,
    signals,
    cwd: place.project,
    env: { ...place.env, NO_COLOR: "1" },
    onSecondSignal() {},
    stdin: Readable.from([]),
    stderr: new Writable({ write: (_chunk, _encoding, done) => done() }),
  });
  return { screen, ended, interrupt: () => signals.emit("SIGINT") };
}

test("20 servers, one of them silent: every other line appears before its timeout", async () => {
  using place = createCommandLinePlace();
  await using server = createTestServer({ tools: { add: { handler: () => "3" } } });
  const { entry } = await server.http();
  let requests = 0;
  const silent = createServer(() => {
    requests += 1;
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => silent.once("listening", resolve));
  const { port } = silent.address() as AddressInfo;
  const names = Array.from({ length: 19 }, (_, index) => `server-${index}`);
  place.configure({
    silent: { url: `http://127.0.0.1:${port}/mcp` },
    ...Object.fromEntries(names.map((name) => [name, { url: entry.url }])),
  });
  const { screen, ended, interrupt } = openList(place, 200);
  try {
    const rows = () => screen.text.match(/^server-\d+ +ok +1 +~\d+ .*$/gm) ?? [];
    await waitFor(() => rows().length === names.length, { label: () => screen.text });
    // The silent server has been asked, its timeout has not fired, and its line is the only one that is missing.
    expect(requests).toBeGreaterThan(0);
    expect(screen.text).not.toMatch(/^silent/m);
    expect(new Set(rows().map((row) => row.split(" ")[0]))).toEqual(new Set(names));
    interrupt();
    expect(await ended).toBe(130);
  } finally {
    silent.closeAllConnections();
    silent.close();
  }
});

test("a narrow terminal shows a line for each value", async () => {
  using place = createCommandLinePlace();
  await using server = createTestServer({ tools: { add: { handler: () => "3" } } });
  place.configure({ "a-server-with-a-long-name": { url: (await server.http()).entry.url } });
  const { screen, ended } = openList(place, 40);
  expect(await ended).toBe(0);
  expect(screen.text).toMatch(
    /^a-server-with-a-long-name\n {2}state: ok\n {2}tools: 1\n {2}tokens: ~\d+\n {2}time: .*\n {2}source: toolport.json:3 \(toolport\)\n$/,
  );
});
