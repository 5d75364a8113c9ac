/** The hash of arguments does not depend on their order, nor on how they were written. */

import { canonicalJson } from "@toolport/base";
import { expect, it } from "vitest";
import { AuditChain } from "./open-audit.js";

it.each<Record<string, unknown>>([
  {},
  { a: 1 },
  { b: "ä\n\"'\u2028", a: -0, c: true, "10": 1e21, "9": 0.1, "": "" },
  { a: null, b: 1 },
  { a: { d: 1, c: [] }, b: [{ z: 1, y: 2 }] },
  JSON.parse('{"__proto__":"x","constructor":1}'),
])("arguments %j are hashed as canonical JSON", (args) => {
  const hashed: string[] = [];
  const mac = (purpose: string, text: string) => {
    if (purpose === "audit/arguments") hashed.push(text);
    return "hash";
  };
  const chain = new AuditChain({ mac, replica: "r", includeArguments: false });
  const line = chain.request({ method: "tools/call", args, outcome: "ok", durationMs: 0 });
  expect(hashed).toEqual([canonicalJson(args)]);
  expect(JSON.parse(line).argumentHash).toBe("hash");
});

it.each([
  { principal: "ä\n\"'\u2028\ud800", server: "a\\b", tool: "x".repeat(600), code: 'UN"SAFE' },
  { principal: "", tool: "</script>", code: -32_603 },
  {},
])("a line is what JSON.stringify makes of its event, %#", (entry) => {
  const chain = new AuditChain({ mac: () => "k1.hash", replica: 'r"1', includeArguments: true });
  const lines = [
    chain.start("k0.before"),
    chain.request({
      ...entry,
      method: "tools/call",
      args: { b: 1, a: [] },
      outcome: "error",
      durationMs: 1.23456,
    }),
    chain.request({ ...entry, method: "ping", outcome: "ok", durationMs: 0 }),
    chain.lost(3),
    chain.end(),
  ];
  for (const [seq, line] of lines.entries()) {
    const event = JSON.parse(line);
    expect(`${JSON.stringify(event)}\n`).toBe(line);
    expect(event).toMatchObject({
      seq,
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(new Date(event.time).toISOString()).toBe(event.time);
  }
  const [, first] = lines.map((line) => JSON.parse(line));
  expect(first).toMatchObject({
    outcome: "error",
    args: { b: 1, a: [] },
    durationMs: 1.235,
    prev: "k1.hash",
  });
  expect(first.principal).toBe(entry.principal);
  expect(first.code).toBe(entry.code);
  expect(first.tool?.length ?? 0).toBeLessThanOrEqual(513);
});
