/** Secrets appear in no log, no error, no snapshot and no inspected value. */
import { inspect } from "node:util";
import { createToolport, type Logger, type ToolportError } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";
import { failure } from "../support/failure.js";

const LEAN = "test/fixtures/servers/stdio-lean.mjs";

/** Each secret has a distinct value, so that a leak can be identified. */
const CANARY = {
  env: "canary-env-7f3a91c2",
  header: "canary-header-88d1e0aa",
  bearer: "canary-bearer-51b7c6f4",
  query: "canary-query-0c9d2e17",
  token: "canary-token-argument-3aa8",
  nested: "canary-nested-password-9911",
};

function expectClean(text: string): void {
  for (const [what, canary] of Object.entries(CANARY)) {
    if (text.includes(canary)) {
      const at = text.indexOf(canary);
      throw new Error(`The ${what} leaked: …${text.slice(Math.max(0, at - 120), at + 40)}…`);
    }
  }
}

/** Every printable form of a value. */
const everything = (value: unknown): string =>
  [
    inspect(value, { depth: 20, showHidden: true, getters: true }),
    JSON.stringify(value),
    value instanceof Error ? `${value.message} ${value.stack} ${JSON.stringify(value.cause)}` : "",
  ].join("\n");

function recorder() {
  const lines: string[] = [];
  const note = (message: string, details?: unknown) => void lines.push(message, everything(details));
  const logger: Logger = { debug: note, info: note, warn: note, error: note };
  return { lines, logger };
}

const loud = { logEvents: true, logRequests: true, logResponses: true };
const ARGS = { text: "seen", token: CANARY.token, deep: { list: [{ password: CANARY.nested }] } };

test("over stdio: variables and arguments", async () => {
  const { lines, logger } = recorder();
  const env = { MY_KEY: CANARY.env };
  const it = { command: process.execPath, args: [LEAN], env, ...loud };
  // Some programs print the key that they got.
  const broken = { ...it, command: "sh", args: ["-c", 'echo "bad key $MY_KEY" >&2; exit 1'] };
  const missing = { ...it, command: "no-such-program-anywhere" };
  await using toolport = createToolport({ mcpServers: { it, broken, missing }, logger });
  const { servers } = await toolport.connect();
  expect(servers["it"]?.state).toBe("ready");
  expect((await toolport.callTool("it__echo", ARGS)).text).toBe("seen");
  const errors: ToolportError[] = [servers["broken"]!.error!, servers["missing"]!.error!];
  errors.push(await failure(toolport.callTool("it__crash", ARGS)));
  errors.push(await failure(toolport.callTool("it__slow", { ms: 60_000, ...ARGS }, { timeoutMs: 50 })));
  for (const error of errors) expectClean(everything(error));
  expectClean(everything(toolport.snapshot()));
  expectClean(everything(toolport));
  // The log exists and is readable.
  const log = lines.join("\n");
  expectClean(log);
  expect(log).toContain("[it] idle -> connecting");
  expect(log).toContain("[it] connecting -> connected");
  expect(log).toMatch(/\[it\] -> .*tools\/call.*echo.*seen/);
  expect(log).toMatch(/\[it\] <- .*seen/);
  expect(log).toContain("[redacted]");
});

test.each(["legacy", "modern"] as const)(
  "over HTTP, %s era: headers, the URL's query and arguments",
  async (era) => {
    const { lines, logger } = recorder();
    let status: number | undefined;
    let seen: string | null = null;
    const echo = { handler: ({ text }: { text?: unknown }) => String(text) };
    await using server = createTestServer({ era, tools: { echo } });
    const http = await server.http({
      intercept(request) {
        seen = request.headers.get("x-api-key");
        if (status === undefined) return undefined;
        return new Response("no", { status, headers: { "www-authenticate": "Bearer" } });
      },
    });
    const headers = { "X-Api-Key": CANARY.header, Authorization: `Bearer ${CANARY.bearer}` };
    const it = { url: `${http.url}?key=${CANARY.query}`, headers, ...loud };
    const refused = { ...it, url: `http://127.0.0.1:1/mcp?key=${CANARY.query}` };
    await using toolport = createToolport({ mcpServers: { it, refused }, logger, retry: false });
    const { servers } = await toolport.connect();
    expect(servers["it"]?.error?.message ?? servers["it"]?.state).toBe("ready");
    expect((await toolport.callTool("it__echo", ARGS)).text).toBe("seen");
    expect(seen).toBe(CANARY.header);
    const errors: ToolportError[] = [servers["refused"]!.error!];
    for (const next of [400, 403, 404, 429, 500, 503, 401]) {
      status = next;
      errors.push(await failure(toolport.callTool("it__echo", ARGS, { timeoutMs: 500 })));
    }
    for (const error of errors) expectClean(everything(error));
    expectClean(everything(toolport.snapshot()));
    expectClean(everything(toolport));
    const log = lines.join("\n");
    expectClean(log);
    expect(log).toMatch(/\[it\] -> .*tools\/call/);
  },
);

test("messages are not logged by default", async () => {
  const { lines, logger } = recorder();
  const it = { command: process.execPath, args: [LEAN] };
  await using toolport = createToolport({ mcpServers: { it }, logger });
  await toolport.callTool("it__echo", ARGS);
  await toolport.close();
  expect(lines).toEqual([]);
});

test.each([
  ["logEvents", /^\[it\] idle -> connecting/],
  ["logRequests", /^\[it\] -> /],
  ["logResponses", /^\[it\] <- /],
])("%s logs only its own messages, at info level", async (option, pattern) => {
  const lines: string[] = [];
  const loudest = (line: string) => void lines.push(`not info: ${line}`);
  const logger: Logger = {
    debug: loudest,
    info: (line) => void lines.push(line),
    warn: loudest,
    error: loudest,
  };
  const it = { command: process.execPath, args: [LEAN], [option]: true };
  await using toolport = createToolport({ mcpServers: { it }, logger });
  await toolport.callTool("it__echo", { text: "hi" });
  expect(lines.some((line) => pattern.test(line))).toBe(true);
  const kind = (line: string) => /^\[it\] (->|<-)/.exec(line)?.[1] ?? "event";
  expect(new Set(lines.map(kind)).size).toBe(1);
});

test("an HTTP error whose body echoes a header does not show its value, not even in the SDK's error", async () => {
  await using server = createTestServer({ tools: {} });
  const { url } = await server.http({
    intercept: (request) => new Response(`You sent ${request.headers.get("x-key")}`, { status: 418 }),
  });
  await using toolport = createToolport({ mcpServers: { it: { url, headers: { "X-Key": CANARY.header } } } });
  const { servers } = await toolport.connect();
  expect(servers["it"]?.state).toBe("failed");
  expect(inspect(servers["it"]?.error, { depth: Number.POSITIVE_INFINITY, showHidden: true })).not.toContain(
    CANARY,
  );
});

test("a secret among a process's arguments is not in a snapshot", async () => {
  await using toolport = createToolport({
    mcpServers: { it: { command: "x", args: [`--api-key=${CANARY.header}`] } },
  });
  expect(JSON.stringify(toolport.snapshot())).not.toContain(CANARY.header);
});
