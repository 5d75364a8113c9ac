/** `list` and `doctor` explain why a server exits at startup or never responds. */
import { expect, test } from "vitest";
import { useProgram } from "../../../test/support/cli-sandbox.js";

const createSandbox = useProgram();

test("list and doctor show the error message of a server, not its stack trace", async () => {
  using sandbox = createSandbox();
  const program = await sandbox.write("project/server.mjs", 'throw new Error("GITHUB_TOKEN is required");\n');
  await sandbox.write("home/.config/toolport/toolport.json", {
    mcpServers: { github: { command: process.execPath, args: [program] } },
  });
  for (const args of [["list"], ["list", "--json"], ["doctor"], ["doctor", "--json"]]) {
    const { stdout, stderr } = await sandbox.run(...args);
    const shown = `${stdout}${stderr}`;
    expect(shown, args.join(" ")).toContain("Error: GITHUB_TOKEN is required");
    // JSON documents contain the whole tail of stderr.
    if (!args.includes("--json")) expect(shown, args.join(" ")).not.toMatch(/ModuleLoader|Node\.js v/);
  }
});

test("list and doctor suggest --timeout for a server that does not respond", async () => {
  using sandbox = createSandbox();
  const program = await sandbox.write("project/silent.mjs", "process.stdin.resume();\n");
  await sandbox.write("home/.config/toolport/toolport.json", {
    mcpServers: { silent: { command: process.execPath, args: [program] } },
  });
  for (const command of ["list", "doctor"]) {
    const { stdout, stderr } = await sandbox.run(command, "--timeout", "300");
    expect(`${stdout}${stderr}`, command).toMatch(/within 300 ms[\s\S]*--timeout/);
  }
  const { stdout } = await sandbox.run("list", "--json", "--timeout", "300");
  expect(JSON.parse(stdout)).toMatchObject({
    servers: [{ status: "offline", error: { code: "TIMEOUT", phase: "connect" } }],
  });
});

test("only doctor reports text on stdout", async () => {
  using sandbox = createSandbox();
  const program = await sandbox.write(
    "project/banner.cjs",
    `console.log("Welcome to the demo server");
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  const result = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "b", version: "1" } };
  const body = method === "initialize" ? { result } : { error: { code: -32601, message: "Method not found" } };
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
});\n`,
  );
  await sandbox.write("home/.config/toolport/toolport.json", {
    mcpServers: { banner: { command: process.execPath, args: [program] } },
  });
  const list = await sandbox.run("list");
  expect(list.code).toBe(0);
  expect(`${list.stdout}${list.stderr}`).not.toContain("Welcome");
  const doctor = await sandbox.run("doctor");
  expect(`${doctor.stdout}${doctor.stderr}`.split("Welcome to the demo server")).toHaveLength(2);
});
