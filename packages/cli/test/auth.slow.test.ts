/** `auth` and `logout` with a real OAuth server, with `--json` and in a real terminal with a scripted browser. */
import { existsSync } from "node:fs";
import { chmod, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { useProgram } from "../../../test/support/cli-sandbox.js";
import { startOAuthBench } from "../../../test/support/oauth-bench.js";
import { logIn } from "../../../test/support/oauth-browser.js";
import { hasTerminal, openTerminal } from "../../../test/support/terminal.js";
import { waitFor } from "../../../test/support/wait-for.js";

const createSandbox = useProgram();

/** Acts as a browser: opens the page, logs in, and follows the redirect. */
async function visit(authUrl: string): Promise<string> {
  const page = await fetch(await logIn(authUrl));
  return page.text();
}

async function setUp() {
  const bench = await startOAuthBench();
  const sandbox = createSandbox();
  await sandbox.write("home/.config/toolport/toolport.json", { mcpServers: { vault: { url: bench.url } } });
  return {
    bench,
    sandbox,
    async [Symbol.asyncDispose]() {
      await bench[Symbol.asyncDispose]();
      sandbox[Symbol.dispose]();
    },
  };
}

test("--no-browser --json prints the login page, waits, and saves the login for the next command", async () => {
  await using setup = await setUp();
  const { sandbox, bench } = setup;
  const before = await sandbox.run("tools", "vault", "--json");
  expect(before.code).toBe(3);
  expect(before.error().next).toBe("toolport auth vault");

  let lines = "";
  const running = sandbox.runWith(
    { onStart: (child) => child.stdout?.on("data", (chunk) => (lines += String(chunk))) },
    ...["auth", "vault", "--no-browser", "--json", "--timeout", "20000"],
  );
  await waitFor(() => lines.includes("\n"), { label: "the login page" });
  const { event, url } = JSON.parse(lines.split("\n")[0]!);
  expect(event).toBe("authUrl");
  expect(url.startsWith(bench.issuer)).toBe(true);
  expect(await visit(url)).toContain("<");
  const { code, stdout, stderr } = await running;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(JSON.parse(stdout.trim().split("\n")[1]!)).toMatchObject({
    event: "authorized",
    server: "vault",
    state: "ready",
  });

  const after = await sandbox.run("tools", "vault", "--json");
  expect(after.code).toBe(0);
  const healthy = await sandbox.run("doctor", "vault", "--json");
  expect(healthy.code).toBe(0);
  const checks = healthy.json().checks as { check: string; status: string; server?: string }[];
  expect(
    checks.filter(({ check }) => ["oauth", "token", "connect"].includes(check)).map(({ status }) => status),
  ).toEqual(["ok", "ok", "ok"]);
  const idle = await sandbox.run("auth", "vault", "--json");
  expect(JSON.parse(idle.stdout)).toMatchObject({ event: "nothingToDo" });
  for (const [secret, name] of bench.secrets)
    for (const text of [stdout, after.stdout, healthy.stdout, idle.stdout])
      expect(text.includes(secret), `${name} was printed`).toBe(false);

  const out = await sandbox.run("logout", "vault", "--json");
  expect(out.json()).toEqual({ server: "vault", loggedOut: true });
  expect(bench.liveAccessTokens).toBe(0);
  expect((await sandbox.run("tools", "vault", "--json")).code).toBe(3);
});

test("exits with 3 if the login is not completed", async () => {
  await using setup = await setUp();
  const { code, stdout, stderr } = await setup.sandbox.run(
    "auth",
    "vault",
    "--no-browser",
    "--timeout",
    "4000",
  );
  expect(code).toBe(3);
  expect(stdout.trim()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/auth\?/);
  expect(stderr).toContain("The login was not completed");
  expect(stderr).toContain("Try: toolport auth");
});

test.skipIf(!hasTerminal)("opens the browser without a shell in a real terminal", async () => {
  await using setup = await setUp();
  const { sandbox } = setup;
  const opener = await sandbox.write(
    "home/bin/xdg-open",
    '#!/bin/sh\nprintf %s "$1" > "$HOME/opening" && mv "$HOME/opening" "$HOME/opened"\n',
  );
  await chmod(opener, 0o755);
  const opened = join(sandbox.home, "opened");
  const terminal = openTerminal([process.execPath, sandbox.main, "auth", "vault"], {
    cwd: sandbox.project,
    env: { ...sandbox.env, PATH: `${join(sandbox.home, "bin")}:${sandbox.env["PATH"]}` },
  });
  try {
    await terminal.waitForText("Log in to vault in your browser");
    await waitFor(() => existsSync(opened), { label: "the browser" });
    await visit(await readFile(opened, "utf8"));
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown).toContain("Logged in to vault");
    expect(terminal.shown).toContain("Next: toolport tools vault");
  } finally {
    terminal.kill();
  }
});
