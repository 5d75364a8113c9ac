/** The hash of arguments does not depend on their order, nor on how they were written. */
import { expect, it } from "vitest";
import { canonicalJson } from "../../catalog/safety/canonical-json.js";
import { AuditChain, eventOf } from "./audit-chain.js";

it.each<Record<string, unknown>>([
  {},
  { a: 1 },
  { b: "ä\n\"'\u2028", a: -0, c: true, "10": 1e21, "9": 0.1, "": "" },
  { a: null, b: 1 },
  { a: { d: 1, c: [] }, b: [{ z: 1, y: 2 }] },
  JSON.parse('{"__proto__":"x","constructor":1}'),
])("arguments %j are hashed as canonical JSON", (args) => {
  const mac = (purpose: string, text: string) => (purpose === "audit/arguments" ? text : "hash");
  const chain = new AuditChain({ mac, replica: "r", includeArguments: false });
  const event = eventOf(chain.request({ method: "tools/call", args, outcome: "ok", durationMs: 0 }));
  expect(event.argumentHash).toBe(canonicalJson(args));
});
