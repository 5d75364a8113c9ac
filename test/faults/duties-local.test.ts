/** Duties of a client on the user's own machine: no shell, consent to the exact command, a console for its owner only. */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { startConsole } from "toolport/console";
import { authorizeInBrowser, describeCommand } from "toolport/node";
import { afterAll, beforeAll, expect } from "vitest";
import { buildPage } from "../../packages/console/test/build-page.js";
import { nastyCommands } from "../fixtures/nasty-commands.js";
import { LEAN_SERVER } from "../fixtures/stdio-peer.js";
import { type CommandLineBench, createCommandLineBench } from "../support/command-line.js";
import { sendRaw } from "../support/raw-request.js";
import { hasTerminal, openTerminal } from "../support/terminal.js";
import { waitFor } from "../support/wait-for.js";
import { sourceFiles, sourcePath } from "../tree/source-files.js";
import { faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";

let program: CommandLineBench;
let page: Awaited<ReturnType<typeof buildPage>>;
beforeAll(async () => {
  [program, page] = await Promise.all([createCommandLineBench(), buildPage()]);
});
afterAll(async () => {
  program?.[Symbol.dispose]();
  await page?.remove();
});

// S2

/** The functions that may be imported from `node:child_process`: none of them starts a shell by default. */
const SHELL_FREE = ["spawn", "execFile", "type ChildProcess"];
const SHELL = /\bshell:\s*(?:true|["'`])|["'`](?:\/bin\/)?(?:sh|bash|cmd|cmd\.exe|powershell)["'`],\s*\[/;

faultCase("S2", "no line of the source passes anything to a shell", async () => {
  const sources = sourceFiles();
  expect(sources.length).toBeGreaterThan(300);
  const starters = sources.filter((file) => readSource(file).includes("child_process"));
  expect(starters.length).toBeGreaterThan(3);
  const found = starters.flatMap((file) => {
    const text = readSource(file);
    const imports = [...text.matchAll(/import( type)? \{([^}]*)\} from "node:child_process"/g)];
    const names = imports.flatMap(([, type, list = ""]) =>
      type === undefined ? list.split(",").map((name) => name.trim()) : [],
    );
    // An import in another form would escape this check.
    const isOdd = imports.length === 0 || text.split("child_process").length - 1 !== imports.length;
    const risky = names.filter((name) => name !== "" && !SHELL_FREE.includes(name));
    return isOdd || risky.length > 0 || SHELL.test(text) ? [`${file}: ${names.join()}`] : [];
  });
  expect(found).toEqual([]);
  // It writes lines for cmd.exe, which alone can run a batch file; its unit test has the table of lines.
  const crossSpawners = sources.filter((file) => readSource(file).includes('"cross-spawn"'));
  expect(crossSpawners).toEqual(["core/transports/stdio/spawn-on-windows.ts"]);
});

const readSource = (file: string): string => readFileSync(sourcePath(file), "utf8");

faultCase(
  "S2",
  'a URL with "$(touch x)" is refused; one that is spelled well is one argument; no file is left',
  async (harness) => {
    const bin = join(harness.folder, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "xdg-open"), `#!/bin/sh\nprintf '%s\\n' "$#" "$@" > "${harness.folder}/seen"\n`);
    chmodSync(join(bin, "xdg-open"), 0o755);
    const path = process.env["PATH"];
    process.env["PATH"] = `${bin}${delimiter}${path}`;
    harness.atEnd(() => {
      process.env["PATH"] = path;
    });
    const hostile = `https://auth.example.com/a?state=s&q="$(touch ${harness.folder}/x)"`;
    await harness.fails(authorizeInBrowser({ authUrl: hostile }), { code: "AUTH_FAILED", withinMs: 3_000 });
    expect(readdirSync(harness.folder)).toEqual(["bin"]);
    // Valid in a URL, two commands in a shell.
    const url = `https://auth.example.com/a?state=s&touch+${harness.folder}/y&q=%22$(touch%20${harness.folder}/z)%22!*`;
    const encoded = url.replace("$(", "%24%28").replace(")", "%29");
    const ending = new AbortController();
    const login = authorizeInBrowser({ authUrl: encoded, signal: ending.signal }).catch(
      (why: unknown) => why,
    );
    const seen = await waitFor(() => readFileSync(join(harness.folder, "seen"), "utf8"));
    expect(seen).toBe(`1\n${encoded}\n`);
    ending.abort("seen");
    expect(await login).toBe("seen");
    expect(readdirSync(harness.folder).sort()).toEqual(["bin", "seen"]);
  },
  { skip: process.platform !== "linux" && "the opener of this system cannot be watched" },
);

faultCase("S2", "no shell reads the arguments of a server", async (harness) => {
  const mark = join(harness.folder, "x");
  const args = [
    LEAN_SERVER,
    `--note=$(touch ${mark})`,
    `;touch ${mark}`,
    `\`touch ${mark}\``,
    `|touch ${mark}`,
  ];
  const toolport = harness.open({ it: { command: process.execPath, args } });
  expect((await toolport.callTool("it__echo", { text: "hi" })).text).toBe("hi");
  expect(existsSync(mark)).toBe(false);
});

// S26

for (const [name, entry] of Object.entries(nastyCommands)) {
  faultCase("S26", `${name}: the whole command, marked as dangerous`, async (harness) => {
    harness.secret("CANARY");
    const { text, startsProcess, risks } = describeCommand(entry);
    harness.note(text);
    expect(startsProcess).toBe(true);
    expect(risks.some(({ level }) => level === "danger")).toBe(true);
    // The exact text of each is in the snapshot beside the source.
    expect(text).toMatch(/^runs {6}\S/);
    expect(text).toContain("DANGER");
    const words = entry.command === undefined ? [] : [entry.command, ...(entry.args ?? [])];
    for (const word of words.join(" ").match(/[\w./-]{4,}/g) ?? []) expect(text).toContain(word);
    expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });
}

faultCase(
  "S26",
  "without a terminal: the whole command is reported, and nothing is started",
  async (harness) => {
    const { mark, command, last } = configureShell(harness);
    const { stderr } = await program.run(["list"]);
    expect(stderr).toContain(command);
    expect(stderr).toContain(last);
    expect(stderr).toContain("DANGER    is a shell that executes text as commands");
    const { code, error } = await program.run(["call", "it.echo", "text=hi", "--json"]);
    expect([code, error().code]).toEqual([2, "NOT_TRUSTED"]);
    expect(existsSync(mark)).toBe(false);
  },
);

faultCase(
  "S26",
  "at a terminal: the question shows the whole command; no, Enter and Ctrl-C start nothing, yes does",
  async (harness) => {
    const { mark, last } = configureShell(harness);
    const ask = async (answer: string): Promise<void> => {
      const terminal = openTerminal([process.execPath, program.main, "list", "--no-state"], {
        cwd: program.project,
        env: program.env,
      });
      harness.atEnd(terminal.kill);
      await terminal.waitForText('Allow "it"? [y/N]');
      const shown = terminal.shown.replaceAll(/[\r\n]/g, "");
      expect(shown.indexOf(last)).toBeGreaterThan(0);
      expect(shown.indexOf(last)).toBeLessThan(shown.indexOf("Allow"));
      terminal.type(answer);
      await terminal.ended;
    };
    for (const no of ["n\r", "\r", "\u0003"]) {
      await ask(no);
      expect(existsSync(mark)).toBe(false);
    }
    await ask("y\r");
    expect(existsSync(mark)).toBe(true);
  },
  { skip: !hasTerminal && "this machine cannot lend a terminal", timeoutMs: 120_000 },
);

/** A project whose server would write a file; harmless if it is started by mistake. */
function configureShell(harness: FaultHarness) {
  const mark = join(harness.folder, "mark");
  const many = Array.from({ length: 300 }, (_, index) => `--argument-number-${index}`);
  const script = `touch ${mark}; exec ${process.execPath} ${LEAN_SERVER}`;
  program.configure({ it: { command: "sh", args: ["-c", script, ...many] } });
  return { mark, command: `"${script}", "--argument-number-0"`, last: many.at(-1) as string };
}

// S32

async function openConsole(harness: FaultHarness) {
  const mark = join(harness.folder, "mark");
  const toolport = harness.open({ program: { command: "touch", args: [mark] } });
  const running = harness.keep(await startConsole({ toolport, pageFolder: page.folder }));
  const { port, hash } = new URL(running.url);
  const token = harness.secret(hash.slice(3));
  const post = (action: string, headers: Record<string, string> = {}, body: object = {}) =>
    sendRaw(running.url, `/api/${action}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", ...headers },
    });
  return { ...running, port, token, mark, post };
}

faultCase("S32", "policy: everything from its own origin or forbidden", async (harness) => {
  const { url, port, token, post } = await openConsole(harness);
  const host = `127.0.0.1:${port}`;
  for (const path of ["/", "/app.js", "/nothing"]) {
    const { headers, text } = await sendRaw(url, path, { headers: { host } });
    // Stricter than `default-src 'self'`: everything that is not listed is forbidden.
    expect(headers["content-security-policy"]).toContain("default-src 'none'; script-src 'self'");
    expect(headers["content-security-policy"]).toMatch(
      /connect-src 'self'; frame-src 'self'; frame-ancestors 'none'/,
    );
    expect(headers["access-control-allow-origin"]).toBeUndefined();
    expect(text).not.toContain(token);
  }
  expect((await post("state", { host, authorization: `Bearer ${token}` })).status).toBe(200);
});

const forgedRequests: Record<string, Record<string, string>> = {
  "DNS rebinding": { host: "evil.example" },
  "a name that leads here": { host: "localhost:PORT" },
  "CSRF from another site": { origin: "https://evil.example" },
  "CSRF from a file": { origin: "null" },
  "CSRF without Origin": { "sec-fetch-site": "cross-site" },
};
for (const [kind, forged] of Object.entries(forgedRequests)) {
  faultCase("S32", `${kind}: 403, with the right token too`, async (harness) => {
    const { url, port, token, post } = await openConsole(harness);
    const own = { host: `127.0.0.1:${port}`, authorization: `Bearer ${token}` };
    const headers = { ...own, ...forged };
    if (forged["host"]) headers.host = forged["host"].replace("PORT", port);
    for (const action of ["state", "connect", "callTool", "events"])
      expect(await post(action, headers, { server: "program" })).toMatchObject({ status: 403, text: "" });
    expect(await sendRaw(url, "/", { headers })).toMatchObject({ status: 403, text: "" });
  });
}

faultCase("S32", "no token, a wrong one, one in the URL: refused", async (harness) => {
  const { url, port, token } = await openConsole(harness);
  const host = `127.0.0.1:${port}`;
  const tries: Record<string, string>[] = [
    {},
    { authorization: `Bearer ${"A".repeat(43)}` },
    { cookie: `t=${token}` },
  ];
  for (const headers of tries)
    expect(
      await sendRaw(url, `/api/state?t=${token}`, {
        method: "POST",
        headers: { host, ...headers },
        body: "{}",
      }),
    ).toMatchObject({ status: 401, text: "" });
});

faultCase("S32", "bound to 127.0.0.1, and to nothing else", async (harness) => {
  const { url, port } = await openConsole(harness);
  expect((await sendRaw(url, "/", { headers: { host: `127.0.0.1:${port}` } })).status).toBe(200);
  for (const address of ["127.0.0.2", "[::1]"])
    await expect(sendRaw(`http://${address}:${port}`, "/")).rejects.toMatchObject({
      code: expect.stringMatching(/ECONNREFUSED|EADDRNOTAVAIL|ENETUNREACH/),
    });
  const toolport = harness.open({});
  const elsewhere = startConsole({ toolport, host: "0.0.0.0" as never, pageFolder: page.folder });
  await harness.fails(elsewhere, { code: "INVALID_CONFIG", withinMs: 3_000 });
});

faultCase(
  "S32",
  "with valid credentials: still no program starts without consent to its command",
  async (harness) => {
    const { port, token, post, mark } = await openConsole(harness);
    const headers = { host: `127.0.0.1:${port}`, authorization: `Bearer ${token}` };
    const { status, text } = await post("connect", headers, { server: "program" });
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({
      error: {
        code: "CONSENT_NEEDED",
        commands: [{ server: "program", command: expect.stringContaining(mark) }],
      },
    });
    expect(existsSync(mark)).toBe(false);
  },
  // No neighbour: with one, the harness itself would start all servers.
  { neighbour: false },
);
