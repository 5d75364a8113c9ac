/** Attacks on a log: every line changed, removed, moved, repeated or cut off. */

import { memoryStore } from "@toolport/stores";
import { describe, expect, it } from "vitest";
import { loadGatewayKeys } from "../replicas/gateway-key.js";
import { createSeal } from "../replicas/seal.js";
import { AuditChain } from "./open-audit.js";
import { verifyAudit } from "./verify-audit.js";

const keys = await loadGatewayKeys(memoryStore());
const { mac } = createSeal(keys);
const verify = (text: string) => verifyAudit([text], mac);

/** Two runs of one replica, one after the other. */
function writeLog(): string[] {
  const lines: string[] = [];
  for (let run = 0; run < 2; run++) {
    const chain = new AuditChain({ mac, replica: "r1", includeArguments: false });
    const { mac: after } = run === 0 ? { mac: undefined } : JSON.parse(lines.at(-1)!);
    lines.push(chain.start(after));
    for (let count = 0; count < 4; count++)
      lines.push(
        chain.request({
          method: "tools/call",
          principal: "alice",
          args: { count },
          outcome: "ok",
          durationMs: count,
        }),
      );
    lines.push(run === 0 ? chain.lost(2) : chain.end());
  }
  return lines;
}

const log = writeLog();
const whole = log.join("");
const problemOf = async (lines: readonly string[]) => (await verify(lines.join(""))).problem;

describe("a whole log", () => {
  it("has no problem, in one piece or in many", async () => {
    const report = { lines: 12, chains: 2, openChains: 1, cutLines: 0, lostRequests: 2 };
    expect(await verify(whole)).toEqual({ ...report, lastMac: JSON.parse(log.at(-1)!).mac });
    expect(await verifyAudit(whole, mac)).toMatchObject(report);
    expect(await verify("")).toEqual({ lines: 0, chains: 0, openChains: 0, cutLines: 0, lostRequests: 0 });
  });

  it("may be written by two processes at once", async () => {
    const [left, right] = [writeLog().slice(0, 6), writeLog().slice(0, 6)];
    const mixed = left.flatMap((line, index) => [line, right[index]!]);
    expect(await verify(mixed.join(""))).toMatchObject({ lines: 12, chains: 2 });
    expect(await problemOf(mixed)).toBeUndefined();
  });

  it("may use a new key from some line on", async () => {
    const chain = new AuditChain({ mac, replica: "r1", includeArguments: false });
    const lines = [chain.start(undefined)];
    await keys.rotate({ delayMs: 0 });
    lines.push(chain.end());
    expect(await problemOf(lines)).toBeUndefined();
    expect(new Set(lines.map((line) => JSON.parse(line).mac.slice(0, 8))).size).toBe(2);
  });
});

describe("an attack is found at its line:", () => {
  const at = log.map((_, index) => index);

  it.each(at)("line %i changed", async (index) => {
    const change = (from: string | RegExp, to: string) =>
      problemOf(log.with(index, log[index]!.replace(from, to)));
    const wanted = { kind: "changed", line: index + 1 };
    expect(await change(/"seq":\d+/, '"seq":77')).toMatchObject(wanted);
    expect(await change("{", "{ ")).toMatchObject(wanted);
    expect(await change('"event"', '"x":1,"event"')).toMatchObject(wanted);
    // Without its hash, or with the hash of another line.
    expect(await change(/,"mac":"[^"]+"/, "")).toMatchObject(
      index + 1 < log.length && log[index + 1]!.includes('"start"')
        ? { kind: "missing", line: index + 2 }
        : wanted,
    );
    const other = JSON.parse(log[(index + 1) % log.length]!).mac;
    expect(await change(/"mac":"[^"]+"/, `"mac":"${other}"`)).toMatchObject(wanted);
  });

  it.each(at.slice(0, -1))("line %i removed", async (index) => {
    expect(await problemOf(log.toSpliced(index, 1))).toMatchObject({ kind: "missing", line: index + 1 });
  });

  it.each(at.slice(0, -1))("line %i swapped with the next", async (index) => {
    const swapped = log.with(index, log[index + 1]!).with(index + 1, log[index]!);
    // The end of the first chain and the start of the second: the start names the line that should be before it.
    const kind = log[index + 1]!.includes('"start"') ? "missing" : "reordered";
    expect(await problemOf(swapped)).toMatchObject({ kind, line: index + 1 });
  });

  it.each(at)("line %i repeated", async (index) => {
    expect(await problemOf(log.toSpliced(index, 0, log[index]!))).toMatchObject({
      kind: "reordered",
      line: index + 2,
    });
  });

  it("the first run removed", async () => {
    expect(await problemOf(log.slice(6))).toMatchObject({ kind: "missing", line: 1 });
  });

  it("the end of the first run removed", async () => {
    expect(await problemOf(log.toSpliced(3, 3))).toMatchObject({ kind: "missing", line: 4 });
  });

  it("an empty line, a foreign line, text after the end", async () => {
    const wanted = { kind: "changed", line: 4 };
    expect(await problemOf(log.toSpliced(3, 0, "\n"))).toMatchObject(wanted);
    expect(await problemOf(log.toSpliced(3, 0, '{"chain":"x"}\n'))).toMatchObject(wanted);
    expect(await problemOf([...log, "nonsense\n"])).toMatchObject({ kind: "changed", line: 13 });
    expect(await problemOf([...log, "\n"])).toMatchObject({ kind: "changed", line: 13 });
  });

  it("a log of another gateway", async () => {
    const others = createSeal(await loadGatewayKeys(memoryStore()));
    expect((await verifyAudit([whole], others.mac)).problem).toMatchObject({ kind: "unknown-key", line: 1 });
  });
});

describe("a last line that was cut off", () => {
  it("is accepted, wherever it was cut", async () => {
    const before = log.slice(0, -1).join("");
    const last = log.at(-1)!;
    for (let length = 1; length < last.length - 1; length++) {
      const report = await verify(before + last.slice(0, length));
      expect(report.problem).toBeUndefined();
      expect(report).toMatchObject({ cutLines: 1, lines: 11 });
    }
    expect(await verify(before + last.slice(0, -1))).toMatchObject({ cutLines: 0, lines: 12 });
  });

  it("is accepted before the next start, but not before another line", async () => {
    const cut = `${log[5]!.slice(0, 40)}\n`;
    const next = new AuditChain({ mac, replica: "r1", includeArguments: false });
    const start = next.start(JSON.parse(log[4]!).mac);
    expect(await problemOf([...log.slice(0, 5), cut, start])).toBeUndefined();
    // A second process was killed while it wrote its start.
    expect(await problemOf([...log.slice(0, 5), cut, `${start.slice(0, 9)}\n`, start])).toBeUndefined();
    expect(await problemOf([...log.slice(0, 3), cut, ...log.slice(3)])).toMatchObject({
      kind: "changed",
      line: 4,
    });
  });
});
