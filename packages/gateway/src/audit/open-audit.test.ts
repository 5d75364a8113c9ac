/** The audit log: what it says about requests, and files that are renamed, full, cut off or missing. */
import { createHash } from "node:crypto";
import { chmodSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryStore } from "@toolport/stores";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createPipe } from "../../../../test/support/named-pipe.js";
import { definitionHash } from "../../../core/src/catalog/safety/canonical-json.js";
import { loadGatewayKeys } from "../replicas/gateway-key.js";
import { createSeal } from "../replicas/seal.js";
import { type AuditEntry, type AuditEvent, type AuditOption, openAudit } from "./open-audit.js";
import { verifyAudit } from "./verify-audit.js";

const keys = await loadGatewayKeys(memoryStore());
const { mac } = createSeal(keys);
const DEFINITION = { name: "read_file", description: "Reads a file", inputSchema: { type: "object" } };
const ENTRY: AuditEntry = {
  principal: "alice",
  method: "tools/call",
  server: "files",
  tool: "read_file",
  definition: DEFINITION,
  args: { path: "/secret/plan", line: 3 },
  outcome: "ok",
  durationMs: 1.23456,
};

const END = '"event":"end"';

let folder: string;
let file: string;
const warn = vi.fn();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolport-audit-"));
  file = join(folder, "audit.ndjson");
  warn.mockClear();
});
afterEach(async () => {
  vi.useRealTimers();
  await rm(folder, { recursive: true });
});

const open = (option: AuditOption) => openAudit(option, { mac, replica: "r1", logger: { warn } });
const linesOf = (path: string): AuditEvent[] =>
  readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
const verify = (...paths: string[]) =>
  verifyAudit(
    paths.map((path) => readFileSync(path, "utf8")),
    mac,
  );

describe("a line", () => {
  it("says who did what, with hashes instead of definitions and arguments", async () => {
    const audit = await open(file);
    audit.record(ENTRY);
    audit.record({ ...ENTRY, args: { line: 3, path: "/secret/plan" }, outcome: "error", code: -32603 });
    audit.record({ method: "ping", outcome: "ok", durationMs: 0 });
    await audit.close();
    const [start, first, second, ping, end] = linesOf(file);
    expect(start).toMatchObject({ event: "start", seq: 0, prev: "" });
    expect(start!.chain).toMatch(/^r1-/);
    expect(first).toEqual({
      chain: start!.chain,
      seq: 1,
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      event: "request",
      principal: "alice",
      method: "tools/call",
      server: "files",
      tool: "read_file",
      definitionHash: await definitionHash(DEFINITION),
      argumentHash: mac("audit/arguments", '{"line":3,"path":"/secret/plan"}'),
      outcome: "ok",
      durationMs: 1.235,
      prev: start!.mac,
      mac: expect.stringMatching(/^[0-9a-f]{8}\./),
    });
    // Equal arguments have equal hashes, whatever their order.
    expect(second).toMatchObject({ argumentHash: first!.argumentHash, outcome: "error", code: -32603 });
    expect(ping).not.toHaveProperty("principal");
    expect(end).toMatchObject({ event: "end", prev: ping!.mac });
    expect(readFileSync(file, "utf8")).not.toContain("/secret/plan");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await verify(file)).toEqual({
      lines: 5,
      chains: 1,
      openChains: 0,
      cutLines: 0,
      lostRequests: 0,
      lastMac: end!.mac,
    });
  });

  it("is what the callback gets, and a callback that fails changes nothing", async () => {
    const events: AuditEvent[] = [];
    const audit = await open({
      file,
      includeArguments: true,
      onEvent: (event) => {
        events.push(event);
        if (event.event === "request") return Promise.reject(new Error("no"));
      },
    });
    audit.record(ENTRY);
    await audit.close();
    expect(events.map((event) => JSON.stringify(event)).join("\n")).toBe(
      readFileSync(file, "utf8").trimEnd(),
    );
    expect(events[1]!.args).toEqual(ENTRY.args);
    expect(warn).toHaveBeenCalledWith("The audit callback failed", expect.any(Error));
  });

  it("cuts long texts of clients, and stays whole with odd ones", async () => {
    const audit = await open(file);
    audit.record({ ...ENTRY, tool: "x".repeat(100_000), principal: '"\n\u2028}\ud800,"mac":"' });
    audit.record({ ...ENTRY, args: { bad: Number.NaN } });
    audit.record(ENTRY);
    await audit.close();
    expect(linesOf(file)[1]!.tool).toHaveLength(513);
    // The line of the request with impossible arguments has none.
    expect(warn).toHaveBeenCalledTimes(1);
    expect(linesOf(file)[2]).toMatchObject({ seq: 2, tool: "read_file", outcome: "ok" });
    expect(linesOf(file)[2]).not.toHaveProperty("args");
    expect(await verify(file)).toMatchObject({ lines: 5 });
    expect((await verify(file)).problem).toBeUndefined();
  });

  it("keeps the start, the length and a hash of large arguments", async () => {
    const audit = await open({ file, includeArguments: true });
    const inQuotes = (length: number) => ({ text: '"'.repeat(length) });
    for (const args of [inQuotes(2_042), inQuotes(2_043), inQuotes(2_000_000)])
      audit.record({ ...ENTRY, args });
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level++) deep = [deep];
    audit.record({ ...ENTRY, args: { deep } });
    await audit.close();
    const [, small, large, larger, deepest] = linesOf(file);
    expect(small!.args).toEqual(inQuotes(2_042));
    expect(small).not.toHaveProperty("cutArgs");
    for (const [line, length] of [
      [large!, 2_043],
      [larger!, 2_000_000],
    ] as const) {
      const json = JSON.stringify(inQuotes(length));
      const sha256 = createHash("sha256").update(json).digest("hex");
      expect(line).not.toHaveProperty("args");
      expect(line.cutArgs).toEqual({ start: json.slice(0, 4_096), length: json.length, sha256 });
      expect(line.argumentHash).toBe(mac("audit/arguments", sha256));
    }
    expect(deepest!.cutArgs).toMatchObject({ length: 200_010 });
    expect(readFileSync(file).length).toBeLessThan(50_000);
    expect(await verify(file)).toMatchObject({ lines: 6, lostRequests: 0 });
    expect((await verify(file)).problem).toBeUndefined();
  });

  it("is written before `record` returns, if wanted", async () => {
    const audit = await open({ file, write: "call" });
    audit.record(ENTRY);
    expect(linesOf(file)).toHaveLength(2);
    await audit.close();
  });
});

describe("a file", () => {
  it("that cannot be opened stops the start", async () => {
    await expect(open(join(folder, "missing", "audit"))).rejects.toMatchObject({ code: "UNREADABLE_CONFIG" });
    await expect(open(folder)).rejects.toMatchObject({ code: "UNREADABLE_CONFIG" });
    await expect(open({})).rejects.toMatchObject({ code: "INVALID_CONFIG" });
  });

  it("goes on after a restart, and after a line that was cut off", async () => {
    for (let run = 0; run < 3; run++) {
      const audit = await open(file);
      audit.record(ENTRY);
      await audit.close();
    }
    writeFileSync(file, readFileSync(file, "utf8").slice(0, -30));
    const audit = await open(file);
    await audit.close();
    const report = await verify(file);
    expect(report).toMatchObject({ lines: 10, chains: 4, openChains: 1, cutLines: 1 });
    expect(report.problem).toBeUndefined();
  });

  it("that is renamed is followed by a new one; both together are whole", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const audit = await open(file);
    audit.record(ENTRY);
    await audit.flush();
    renameSync(file, `${file}.1`);
    vi.advanceTimersByTime(1_500);
    audit.record(ENTRY);
    await audit.close();
    expect(await verify(`${file}.1`, file)).toMatchObject({ lines: 4, chains: 1, openChains: 0 });
    expect((await verify(`${file}.1`, file)).problem).toBeUndefined();
    expect((await verify(file)).problem).toMatchObject({ kind: "missing", line: 1 });
  });

  it.runIf(process.platform === "linux")(
    "on a full disk keeps lines, counts the rest, and heals",
    async () => {
      vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
      symlinkSync("/dev/full", file);
      const audit = await open({ file, maxBufferBytes: 2_000 });
      await expect(audit.flush()).rejects.toMatchObject({ code: "ENOSPC" });
      for (let count = 0; count < 20; count++) audit.record(ENTRY);
      // A request does not wait for a disk that fails.
      expect(audit.space()).toBeUndefined();
      await expect(audit.flush()).rejects.toMatchObject({ code: "ENOSPC" });
      expect(warn.mock.calls.map(([message]) => message)).toEqual([
        expect.stringContaining("cannot be written"),
        expect.stringContaining("only counted"),
      ]);
      rmSync(file);
      vi.advanceTimersByTime(1_500);
      await vi.waitFor(() => audit.flush());
      audit.record(ENTRY);
      await audit.close();
      const report = await verify(file);
      expect(report.problem).toBeUndefined();
      expect(report.lostRequests + report.lines).toBe(20 + 1 + 3);
      expect(report.lostRequests).toBeGreaterThan(5);
    },
  );
});

describe.skipIf(process.platform === "win32")("a writer that is slower than the requests", () => {
  it("makes them wait and loses no line; an abort ends the wait", async () => {
    await using pipe = createPipe(file);
    const audit = await open({ file, maxBufferBytes: 50_000, fsyncMs: Number.POSITIVE_INFINITY });
    let recorded = 0;
    let space: Promise<void> | undefined;
    for (; recorded < 10_000 && space === undefined; recorded++) {
      audit.record(ENTRY);
      space = audit.space();
    }
    const abort = new AbortController();
    const aborted = audit.space(abort.signal);
    abort.abort(new Error("gone"));
    await expect(aborted).rejects.toThrow("gone");
    // Requests that had begun get their lines.
    for (let open = 0; open < 100; open++) audit.record(ENTRY);
    expect(audit.space()).toBeInstanceOf(Promise);
    const text = pipe.read();
    await space;
    expect(audit.space()).toBeUndefined();
    audit.record(ENTRY);
    await audit.close();
    const report = await verifyAudit([await text(END)], mac);
    expect(report.problem).toBeUndefined();
    expect(report).toMatchObject({ lines: 3 + recorded + 100, lostRequests: 0, openChains: 0 });
  });

  it("lets them go without an effect when the log is closed", async () => {
    await using pipe = createPipe(file);
    const audit = await open({ file, maxBufferBytes: 1_000, fsyncMs: Number.POSITIVE_INFINITY });
    for (let count = 0; count < 1_000; count++) audit.record(ENTRY);
    const space = audit.space();
    const closing = audit.close();
    await expect(space).rejects.toThrow("closed");
    const text = pipe.read();
    await closing;
    expect(await verifyAudit([await text(END)], mac)).toMatchObject({ lines: 1_002, openChains: 0 });
  });
});

it("sets no timer when it is closed: the descriptor may belong to another file by then", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const audit = await open(file);
  audit.record(ENTRY);
  await audit.close();
  expect(vi.getTimerCount()).toBe(0);
  expect(warn).not.toHaveBeenCalled();
});

describe("a file that existed before", () => {
  it.skipIf(process.platform === "win32").each([
    [0o644, 1],
    [0o640, 0],
    [0o600, 0],
  ])("keeps mode %o, with %i warnings", async (mode, count) => {
    writeFileSync(file, "");
    chmodSync(file, mode);
    const audit = await open(file);
    audit.record(ENTRY);
    await audit.close();
    expect(statSync(file).mode & 0o777).toBe(mode);
    expect(warn).toHaveBeenCalledTimes(count);
    if (count > 0) expect(warn.mock.lastCall?.[0]).toContain(`chmod o-rwx ${file}`);
  });
});
