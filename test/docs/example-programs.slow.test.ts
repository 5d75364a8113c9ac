/** The programs of examples/: run as `npm run example` runs them, with the built package, and driven like a user drives them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { LLMock } from "@copilotkit/aimock";
import ts from "typescript";
import { expect, test } from "vitest";
import { startOAuthBench } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { freePort } from "../support/program-on-port.js";
import { readMarkdown, root } from "./markdown.js";

const PROGRAMS = ["chat", "nest-service", "web-app"];

interface Program extends AsyncDisposable {
  readonly child: ChildProcess;
  /** Resolves when the program has printed the text, after what an earlier call waited for. */
  sees(text: string): Promise<void>;
  types(line: string): void;
  /** Exit code and everything on stderr. */
  ended(): Promise<{ code: number | null; stderr: string }>;
}

function startExample(name: string, env: Readonly<Record<string, string>> = {}): Program {
  const { OPENAI_API_KEY: _key, ...rest } = process.env;
  const child = spawn(process.execPath, [join(root, "scripts", "run-example.mjs"), name], {
    cwd: root,
    env: { ...rest, ...env },
    stdio: "pipe",
  });
  let [unseen, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text) => {
    unseen += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  const closed = once(child, "close");
  return {
    child,
    async sees(text) {
      while (!unseen.includes(text)) {
        if (child.exitCode !== null) throw new Error(`No ${JSON.stringify(text)} in: ${unseen}${stderr}`);
        await Promise.race([once(child.stdout, "data"), closed]);
      }
      unseen = unseen.slice(unseen.indexOf(text) + text.length);
    },
    types: (line) => child.stdin.write(`${line}\n`),
    async ended() {
      const [code] = await closed;
      return { code, stderr };
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await closed;
    },
  };
}

const quietEnd = { code: 0, stderr: "" };

test("chat: asks before a change, reads without asking, Ctrl-C cancels the call and then ends the chat", async () => {
  await using chat = startExample("chat");
  await chat.sees("notes: ready, 3 tools");
  chat.types("remember buy milk");
  await chat.sees('notes wants to add {"text":"buy milk"}. Allow? (y/n)');
  chat.types("y");
  await chat.sees("Notes in all: 1");

  chat.types("remember buy gold");
  await chat.sees("Allow? (y/n)");
  chat.types("n");
  await chat.sees("✗ notes__add");
  chat.types("list");
  await chat.sees("✓ notes__list\nbuy milk\n> ");

  chat.types("upload");
  await chat.sees("Allow? (y/n)");
  chat.types("y");
  await chat.sees("connected to the slow place");
  chat.child.kill("SIGINT");
  await chat.sees("Cancelled.");

  chat.types("upload");
  await chat.sees("Allow? (y/n)");
  chat.child.kill("SIGINT"); // while it asks
  await chat.sees("Cancelled.");
  chat.types("good morning");
  await chat.sees("I am a script.");
  chat.child.kill("SIGINT");
  expect(await chat.ended()).toEqual(quietEnd);
}, 120_000);

test("chat: with a key, a model streams its answers and keeps the conversation", async () => {
  const double = new LLMock({ port: 0 });
  double.on(
    { userMessage: "Any notes?", hasToolResult: false },
    { toolCalls: [{ name: "notes__list", arguments: "{}" }] },
  );
  double.on({ userMessage: "Any notes?", toolResultContains: "no notes" }, { content: "You have none." });
  double.on({ userMessage: "Thanks" }, { content: "You are welcome." });
  await double.start();
  try {
    const env = { OPENAI_API_KEY: "none", OPENAI_BASE_URL: `${double.url}/v1` };
    await using chat = startExample("chat", env);
    chat.types("Any notes?");
    await chat.sees("✓ notes__list\nYou have none.");
    chat.types("Thanks");
    await chat.sees("You are welcome.");
    chat.types("exit");
    expect(await chat.ended()).toEqual(quietEnd);
  } finally {
    await double.stop();
  }
}, 120_000);

test("web-app: every user logs in once at the server, and gets the own account", async () => {
  await using bench = await startOAuthBench();
  const PORT = String(await freePort());
  const home = `http://127.0.0.1:${PORT}`;
  await using app = startExample("web-app", { PORT, BASE_URL: home, MCP_URL: bench.url });
  await app.sees(`Open ${home}`);
  const open = (path: string, cookies: readonly string[], init: RequestInit = {}) =>
    fetch(new URL(path, home), { ...init, redirect: "manual", headers: { cookie: cookies.join("; ") } });
  const cookieOf = (response: Response) => response.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  const question = { method: "POST", body: JSON.stringify({ prompt: "Who am I?" }) };

  expect((await open("/chat", [], question)).status).toBe(401);
  expect((await open("/chat", ["user=ada.forged"], question)).status).toBe(401);

  const answers: unknown[] = [];
  for (const name of ["ada", "grace"]) {
    const user = cookieOf(
      await open("/sign-in", [], { method: "POST", body: new URLSearchParams({ name }) }),
    );
    expect(await (await open("/chat", [user], question)).json()).toMatchObject({ connect: "/connect" });
    const connect = await open("/connect", [user]);
    const callback = await logIn(connect.headers.get("location") ?? "", name);
    const path = callback.pathname + callback.search;
    expect((await open(path, [user])).status, "the link alone").toBe(400);
    const finished = await open(path, [user, cookieOf(connect)]);
    expect(finished.headers.get("location")).toBe(`${home}/`);
    answers.push(await (await open("/chat", [user], question)).json());
    expect((await open("/chat", [user], { method: "POST", body: "prompt=x" })).status).toBe(400);
  }
  expect(answers).toEqual([
    { text: "The account says that you are ada" },
    { text: "The account says that you are grace" },
  ]);
  app.child.kill("SIGTERM");
  expect(await app.ended()).toEqual(quietEnd);
}, 120_000);

test("nest-service: hooks run at start and end, and every request has the tools of its user", async () => {
  const PORT = String(await freePort());
  await using service = startExample("nest-service", { PORT });
  await service.sees("ToolportService: ready");
  await service.sees("Listening on");
  const ask = async (path: string, user: string) =>
    (await fetch(`http://127.0.0.1:${PORT}${path}`, { headers: { "x-user": user } })).json();
  expect(await ask("/tools", "ada")).toEqual(["orders__mine"]);
  expect(await Promise.all(["ada", "grace"].map((user) => ask("/ask", user)))).toEqual([
    { text: "These are the orders of ada" },
    { text: "These are the orders of grace" },
  ]);
  service.child.kill("SIGTERM");
  await service.sees("ToolportService: closed");
  expect(await service.ended()).toEqual(quietEnd);
}, 120_000);

test("the JavaScript of the programs compiles against the declarations of the package", () => {
  const files = PROGRAMS.flatMap((name) =>
    readdirSync(join(root, "examples", name)).map((file) => join(root, "examples", name, file)),
  ).filter((file) => /\.[cm]js$/.test(file));
  const program = ts.createProgram(files, {
    allowJs: true,
    checkJs: true,
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    types: ["node"],
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    lib: ["lib.es2023.d.ts"],
  });
  const problems = ts
    .getPreEmitDiagnostics(program)
    .map(
      ({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`,
    );
  expect(problems).toEqual([]);
  expect(files.length).toBeGreaterThan(3);
}, 120_000);

test("every program has a README with its command, and is in the lists of examples", () => {
  const linked = readMarkdown("examples/README.md").links.map(({ target }) => target);
  for (const name of PROGRAMS) {
    expect(readFileSync(join(root, "examples", name, "README.md"), "utf8")).toContain(
      `npm run example ${name}`,
    );
    expect(linked).toContain(`${name}/README.md`);
  }
});
