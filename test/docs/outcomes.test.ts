/** The table of outcomes in docs/errors.md matches the code. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  outcomeOfStatus,
  REFUSING_STATUSES,
  RPC_ERRORS,
  traitsOfRpcError,
} from "../../packages/base/src/errors/foreign-error.js";

const page = readFileSync("docs/errors.md", "utf8");
const table = /<!-- outcomes: begin -->\n([\s\S]*?)<!-- outcomes: end -->/.exec(page)?.[1] ?? "";
const rows = table
  .split("\n")
  .filter((line) => /^\| (HTTP|JSON-RPC)/.test(line))
  .map((line) => {
    const [answer = "", , outcome = "", retryable = ""] = line.slice(1, -1).split("|");
    const [, kind, code, more] = /^ (HTTP|JSON-RPC) (-?\d+)(.*) $/.exec(answer)!;
    return {
      kind,
      code: Number(code),
      inSession: more!.includes("session"),
      outcome: outcome.replaceAll("`", "").trim(),
      retryable: retryable.trim().startsWith("yes"),
    };
  });
const of = (kind: string) => rows.filter((row) => row.kind === kind);

test("every status of the table refuses, and every refusing status is in it", () => {
  for (const { code, inSession, outcome } of of("HTTP"))
    expect({ code, outcome: outcomeOfStatus(code, { inSession }) }).toEqual({ code, outcome });
  const plain = of("HTTP").filter(({ inSession }) => !inSession);
  expect(plain.map(({ code }) => code)).toEqual([...REFUSING_STATUSES]);
  const all = Array.from({ length: 400 }, (_, index) => index + 200);
  const unsent = all.filter((status) => outcomeOfStatus(status, { inSession: true }) === "unsent");
  expect(unsent).toEqual(of("HTTP").map(({ code }) => code));
});

test("every JSON-RPC code of the table, and no other", () => {
  for (const { code, outcome, retryable } of of("JSON-RPC"))
    expect({ code, ...traitsOfRpcError(code) }).toEqual({ code, outcome, retryable });
  expect(of("JSON-RPC").map(({ code }) => code)).toEqual([...RPC_ERRORS.keys()]);
});
