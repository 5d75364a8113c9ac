/** Options of `toolport serve`: what `--print-config` passes on, and a token that cannot be used. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { createCommandLinePlace } from "../../../test/support/command-line.js";

const TOKEN = "a".repeat(32);

const serve = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
  using place = createCommandLinePlace();
  const folder = join(place.home, ".config/toolport");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "toolport.json"), '{"mcpServers":{"a":{"command":"no-such-program"}}}');
  return { ...(await place.run(["serve", ...args], { env })), project: place.project };
};

/** The arguments after `serve`. */
const printedArgs = (stdout: string): string[] => {
  const { args } = JSON.parse(stdout).mcpServers.toolport as { args: string[] };
  return args.slice(args.indexOf("serve") + 1);
};

test("--print-config passes every option of a gateway over stdio on", async () => {
  const options = [
    "--no-prefix",
    "--read-only",
    "--code",
    "--drain-ms",
    "2000",
    "--quiet",
    "--verbose",
    "--yes",
  ];
  const { stdout } = await serve(["--print-config", "cursor", ...options]);
  expect(printedArgs(stdout).toSorted()).toEqual(options.toSorted());
});

test("--print-config passes the state of the shell on", async () => {
  const { stdout, project } = await serve(["--print-config", "cursor"], { TOOLPORT_STATE: "own.db" });
  expect(printedArgs(stdout)).toEqual(["--state", resolve(project, "own.db")]);
  const off = await serve(["--print-config", "cursor"], { TOOLPORT_STATE: "off" });
  expect(printedArgs(off.stdout)).toEqual(["--no-state"]);
  const given = await serve(["--print-config", "cursor", "--state", "given.db"], { TOOLPORT_STATE: "off" });
  expect(printedArgs(given.stdout)).toEqual(["--state", resolve(given.project, "given.db")]);
});

test("--print-config refers to the token of a gateway that has it from its environment", async () => {
  const env = { TOOLPORT_SERVE_TOKEN: TOKEN };
  const { stdout, stderr } = await serve(["--print-config", "cursor", "--http", "8080"], env);
  const { headers } = JSON.parse(stdout).mcpServers.toolport;
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the syntax of Cursor.
  expect(headers).toEqual({ Authorization: "Bearer ${env:TOOLPORT_SERVE_TOKEN}" });
  expect(stderr).toContain("TOOLPORT_SERVE_TOKEN");
  expect(stdout + stderr).not.toContain(TOKEN);
  const code = await serve(["--print-config", "vscode", "--http", "8080"], env);
  expect(JSON.parse(code.stdout).inputs).toHaveLength(1);
  const open = await serve(["--print-config", "cursor", "--http", "8080", "--no-token"], env);
  expect(JSON.parse(open.stdout).mcpServers.toolport).not.toHaveProperty("headers");
});

test("--print-config refers to the key of the store", async () => {
  const env = { TOOLPORT_STORE: "redis://cache:6379/0", TOOLPORT_STORE_KEY: "the-secret-key" };
  const { stdout, stderr } = await serve(["--print-config", "cursor"], env);
  const entry = JSON.parse(stdout).mcpServers.toolport;
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the syntax of Cursor.
  expect(entry.env).toEqual({ TOOLPORT_STORE_KEY: "${env:TOOLPORT_STORE_KEY}" });
  expect(stdout + stderr).not.toContain("the-secret-key");
  const desktop = await serve(["--print-config", "claude-desktop"], env);
  expect({ code: desktop.code, stdout: desktop.stdout }).toEqual({ code: 2, stdout: "" });
  expect(desktop.stderr).toContain("cannot refer to variables");
  expect(desktop.stderr).toContain("TOOLPORT_STORE_KEY");
});

test("a token that is too short is named by its variable", async () => {
  const { code, stderr } = await serve(["--http", "0"], { TOOLPORT_SERVE_TOKEN: "short" });
  expect(stderr).toContain("TOOLPORT_SERVE_TOKEN must have at least 32 characters");
  expect(code).toBe(2);
});
