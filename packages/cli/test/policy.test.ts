/** `toolport policy check` and `toolport policy test`. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createCommandLinePlace } from "../../../test/support/command-line.js";

const RULES = `{
  "default": "deny",
  "rules": [
    { "effect": "allow", "server": "files", "tool": "read", "args": { "/path": { "path": true, "glob": "/home/*" } } },
    { "effect": "approve", "server": "files", "tool": "write", "user": { "subject": "alice" }, "reason": "Ask first" },
    { "effect": "allow", "resource": "file:///public/*", "scope": "read" }
  ]
}`;

async function policy(args: readonly string[], text = RULES) {
  using place = createCommandLinePlace();
  place.configure({ files: { command: "no-such-program" }, mail: { command: "no-such-program" } });
  writeFileSync(join(place.project, "policy.json"), text);
  return await place.run(["policy", ...args]);
}

test("test says what happens and by which rule", async () => {
  const ask = (...args: string[]) => policy(["test", "policy.json", ...args]);
  const read = await ask("--server", "files", "--tool", "read", "--args", '{"path":"/home/b/../a"}');
  expect([read.code, read.stdout]).toEqual([0, "allowed by rule 1 (policy.json:4)\n"]);
  const left = await ask("--tool", "files__read", "--args", '{"path":"/home/../etc"}', "--json");
  expect([left.code, left.json()]).toEqual([
    5,
    { effect: "deny", rule: null, line: null, reason: "No rule of the policy allows this" },
  ]);
  const write = await ask(
    "--user",
    "alice",
    "--issuer",
    "https://login.example.com",
    "--tool",
    "files__write",
  );
  expect([write.code, write.stdout]).toEqual([
    3,
    "needs approval by rule 2 (policy.json:5)\nreason: Ask first\n",
  ]);
  expect((await ask("--user", "alice", "--tool", "files__write")).code).toBe(5);
  const public_ = await ask("--server", "files", "--scope", "read", "--resource", "FILE:///public/a");
  expect([public_.code, public_.stdout]).toEqual([0, "allowed by rule 3 (policy.json:6)\n"]);
  const unclear = await ask("--server", "files", "--scope", "read", "--resource", "file:///public/a%2fb");
  expect(unclear.stderr).toContain("encoded slash");
  const careless = await ask("--server", "files", "--resource", "note://Team/x");
  expect(careless.stderr).toContain("Decided about as note://Team/x and as note://team/x");
  expect((await ask("--server", "flies", "--tool", "read")).stderr).toContain("has no server flies");
});

test("test needs one request", async () => {
  const ask = (...args: string[]) => policy(["test", "policy.json", ...args]);
  expect((await ask("--tool", "read")).stderr).toContain("--server");
  expect((await ask("--tool", "read", "--prompt", "p")).stderr).toContain("Name one of");
  const bad = await ask("--server", "files", "--tool", "read", "--args", "[]");
  expect([bad.code, bad.stderr]).toEqual([1, expect.stringContaining("JSON object")]);
});

test("check names rules that can never apply", async () => {
  expect(await policy(["check", "policy.json"])).toMatchObject({
    code: 0,
    stdout: "3 rules: a gateway can start with them\n",
  });
  const wrong = `{ "default": "allow", "rules": [
    { "effect": "deny", "server": "flies" },
    { "effect": "deny", "tool": "files__move_file" },
    { "effect": "deny", "server": "files", "tool": "write_*" },
    { "effect": "allow", "server": "files", "tool": "write_file" }
  ] }`;
  const { code, stdout } = await policy(["check", "policy.json"], wrong);
  expect(code).toBe(2);
  expect(stdout).toContain(
    'error: policy.json:2: policy.rules[0].server: "flies" is not the name of a server',
  );
  expect(stdout).toContain('did you mean "files"?');
  expect(stdout).toContain('Write "server": "files", "tool": "move_file"');
  expect(stdout).toContain("warning: policy.json:5: policy.rules[3]: never applies, because rule 3");
  const misspelled = await policy(["check", "policy.json"], '{"default":"alow","rules":[]}');
  expect([misspelled.code, misspelled.stderr]).toEqual([2, expect.stringContaining("policy.json:1")]);
  expect((await policy(["check", "gone.json"])).code).toBe(2);
});
