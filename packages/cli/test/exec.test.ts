/** `toolport exec`: programs from files and stdin, their output, errors and limits, and programs that wait for a person. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createTestServer } from "@toolport/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CommandLinePlace, createCommandLinePlace } from "../../../test/support/command-line.js";

const paid: unknown[] = [];
const bank = createTestServer({
  tools: {
    rate: { handler: () => "1.5" },
    pay: {
      inputSchema: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] },
      handler: ({ amount }) => {
        paid.push(amount);
        return `paid ${amount as number}`;
      },
    },
  },
});

let place: CommandLinePlace;
beforeAll(async () => {
  place = createCommandLinePlace();
  place.configure({ bank: { url: String((await bank.http()).entry.url) } });
  await place.run(["list", "--yes"]);
});
afterAll(async () => {
  await bank.close();
  place[Symbol.dispose]();
});

function program(text: string): string {
  writeFileSync(join(place.project, "program.ts"), text);
  return "program.ts";
}

test("runs a TypeScript file: the value on stdout, its console and calls on stderr", async () => {
  const file = program(`
    type Rate = { value: number };
    const rate: Rate = { value: Number(await tools.bank.rate()) };
    console.log("the rate is", rate.value);
    return { doubled: rate.value * 2 };
  `);
  const { code, stdout, stderr } = await place.run(["exec", file]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '{\n  "doubled": 3\n}\n' });
  expect(stderr).toContain("the rate is 1.5");
  expect(stderr).toContain("bank__rate");
  const json = await place.run(["exec", file, "--json"]);
  expect(JSON.parse(json.stdout)).toMatchObject({
    value: { doubled: 3 },
    calls: [{ tool: "bank__rate", ok: true }],
  });
});

test.each([
  ["a syntax error", "const a = ;", 5, /SyntaxError, line 1, column 11/],
  ["a tool that does not exist", "return tools.bank.rates()", 5, /tools\.bank has: pay, rate/],
  ["an error after a call", "await tools.bank.rate(); throw new Error('no')", 5, /bank__rate/],
])("reports %s", async (_, text, exitCode, message) => {
  const { code, stdout, stderr } = await place.run(["exec", program(text)]);
  expect({ code, stdout }).toEqual({ code: exitCode, stdout: "" });
  expect(stderr).toMatch(message);
  expect(stderr).not.toContain(place.project);
});

test.each([
  [["exec", "missing.ts"], 1, /missing\.ts cannot be read \(ENOENT\)/],
  [["exec", "program.ts", "--limit", "calls"], 1, /name=number/],
  [["exec", "program.ts", "--limit", "cals=1"], 2, /did you mean calls/],
])("refuses %j", async (args, exitCode, message) => {
  program("return 1");
  const { code, stderr } = await place.run(args as string[]);
  expect(stderr).toMatch(message as RegExp);
  expect(code).toBe(exitCode);
});

test("a program that waits for an approval is continued by resume, and pays once", async () => {
  const file = program(`return [await tools.bank.rate(), await tools.bank.pay({ amount: 5 })]`);
  const first = await place.run(["exec", file, "--suspend", "--approval", "always", "--output", "raw"]);
  const [rateToken] = /tpp1\.[\w-]+/.exec(first.stdout)!;
  const approve = async (token: string) => place.run(["resume", token, "--approve", "--json"]);
  expect((await place.run(["resume", rateToken])).stderr).toMatch(/approv/);
  expect(paid).toEqual([]);
  // The next call waits for an approval too.
  const { token } = JSON.parse((await approve(rateToken)).stdout) as { token: string };
  expect(paid).toEqual([]);
  const { stdout, code } = await approve(token);
  expect({ code, paid }).toEqual({ code: 0, paid: [5] });
  expect(JSON.parse(stdout)).toMatchObject({ value: ["1.5", "paid 5"] });
  for (const used of [rateToken, token]) expect((await approve(used)).stderr).toContain("SUSPENSION_UNKNOWN");
  expect(paid).toEqual([5]);
});
