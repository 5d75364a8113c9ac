/** Text of servers in results, descriptions, names, errors and logs controls no terminal and reveals no secret. */
import { classifyError, type ServerEntry, type ToolCallError } from "toolport";
import { createTestServer, type TestServer } from "toolport/testing";
import { expect } from "vitest";
import { ALL_SEQUENCES, TERMINAL_SEQUENCES, UNSAFE_ON_TERMINAL } from "../fixtures/prompt-attacks/corpus.js";
import { JsonRpcFailure, startJsonRpcServer } from "../fixtures/servers/http-json-rpc.js";
import { createCommandLinePlace } from "../support/command-line.js";
import { waitFor } from "../support/wait-for.js";
import { faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";

/** A server that sends the text in every field. */
function sayEverywhere(harness: FaultHarness, text: string): TestServer {
  return harness.keep(
    createTestServer({
      name: `name ${text}`,
      version: text,
      instructions: text,
      era: "legacy",
      capabilities: { logging: {} },
      tools: {
        say: { title: text, description: text, handler: () => text },
        fail: { handler: () => ({ isError: true, content: [{ type: "text", text }] }) },
        throw: {
          handler() {
            throw new Error(text);
          },
        },
        log: {
          async handler(_args, { server }) {
            await server.sendLoggingMessage({ level: "error", logger: text, data: text });
            return "logged";
          },
        },
      },
      resources: { "x://it": { name: text, description: text, text } },
      prompts: { it: { title: text, description: text, get: () => text } },
    }),
  );
}

const COMMANDS = [
  ["tools", "evil"],
  ["tools", "evil.say"],
  ["call", "evil.say"],
  ["call", "evil.fail"],
  ["call", "evil.throw"],
  ["call", "evil.log", "--verbose"],
  ["resources", "evil"],
  ["read", "evil", "x://it"],
  ["prompts", "evil"],
  ["prompt", "evil", "it"],
  ["inspect", "evil"],
];

faultCase(
  "C04",
  "twenty sequences in every field: none reaches the terminal",
  async (harness) => {
    const server = sayEverywhere(harness, ALL_SEQUENCES);
    const place = createCommandLinePlace();
    harness.atEnd(() => place[Symbol.dispose]());
    place.configure({ evil: { url: (await server.http()).entry.url } });
    await place.run(["list", "--yes"]);
    for (const args of COMMANDS) {
      const { stdout, stderr } = await place.run([...args, "--no-color"], { isTerminal: true });
      expect(stdout.length + stderr.length, args.join(" ")).toBeGreaterThan(0);
      expect(UNSAFE_ON_TERMINAL.exec(stdout), `stdout of ${args.join(" ")}`).toBeNull();
      expect(UNSAFE_ON_TERMINAL.exec(stderr), `stderr of ${args.join(" ")}`).toBeNull();
    }
  },
  // The whole command line is loaded here for the first time.
  { timeoutMs: 120_000, neighbour: false, maxHeapGrowth: 32 * 1024 * 1024 },
);

faultCase("C04", "twenty sequences: each is escaped on the page of the console", async () => {
  // The page uses browser types.
  const { html } = await import("../../packages/console/src/page/html.ts" as string);
  for (const [name, sequence] of Object.entries(TERMINAL_SEQUENCES)) {
    const { props } = html`<p title=${sequence}>${sequence}</p>` as {
      props: { title: string; children: string };
    };
    for (const shown of [props.title, props.children]) {
      expect(shown.length, name).toBeGreaterThan(0);
      expect(UNSAFE_ON_TERMINAL.exec(shown), name).toBeNull();
    }
  }
});

faultCase("C04", "twenty sequences: in no log line and in no message of an error", async (harness) => {
  const server = sayEverywhere(harness, ALL_SEQUENCES);
  const raw = await startJsonRpcServer({
    "tools/list": () => ({ tools: [{ name: "bad", inputSchema: { type: "object" } }] }),
    "tools/call": () => new JsonRpcFailure(-32000, ALL_SEQUENCES),
  });
  harness.atEnd(() => raw[Symbol.asyncDispose]());
  const loud = { logEvents: true, logRequests: true, logResponses: true };
  const toolport = harness.open({ it: { ...server.memory(), ...loud } as ServerEntry, raw: raw.entry });
  await toolport.connect();
  await toolport.callTool("it__log");
  await toolport.callTool("it__say");
  await waitFor(() => harness.logged.some((line) => line.startsWith("error [it/")));
  const failed = await toolport.callTool("it__fail");
  expect(failed).toMatchObject({ isError: true, text: ALL_SEQUENCES });
  const { message } = classifyError(failed);
  const error = await harness.fails(toolport.callTool("raw__bad"), {
    code: "PROTOCOL",
    server: "raw",
    withinMs: 3_000,
  });
  for (const line of [...harness.logged, message, error.message])
    expect(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/.exec(line)).toBeNull();
});

/** Echoes the secret that it received: as the text of a failed tool, of an error, of a log line. */
async function startEcho(harness: FaultHarness, era: "legacy" | "modern") {
  const said = (headers: NodeJS.Dict<string | string[]>) =>
    `You sent ${headers["authorization"]} and the key ${headers["x-api-key"]}, in short ${String(headers["authorization"]).slice(7)}`;
  const server = await startJsonRpcServer(
    {
      "tools/list": () => ({
        tools: ["fail", "refuse"].map((name) => ({ name, inputSchema: { type: "object" } })),
      }),
      "tools/call": ({ params, headers }) => {
        const text = said(headers);
        if (params["name"] === "fail") return { isError: true, content: [{ type: "text", text }] };
        return new JsonRpcFailure(-32000, text);
      },
    },
    { era },
  );
  harness.atEnd(() => server[Symbol.asyncDispose]());
  return server;
}

for (const era of ["legacy", "modern"] as const) {
  faultCase(
    "C04",
    `a failure that repeats the token, ${era}: in no log, no error, no snapshot`,
    async (harness) => {
      const [token, key] = [harness.secret(), harness.secret()];
      const server = await startEcho(harness, era);
      const headers = { Authorization: `Bearer ${token}`, "X-Api-Key": key };
      const loud = { logEvents: true, logRequests: true, logResponses: true };
      const toolport = harness.open({ it: { ...server.entry, headers, ...loud } });
      const result = await toolport.callTool("it__fail");
      // Only the caller gets the tool's text.
      expect(result.isError).toBe(true);
      expect(result.text).toContain(token);
      const error = await harness.fails<ToolCallError>(toolport.callTool("it__refuse"), {
        code: "PROTOCOL",
        server: "it",
        tool: "refuse",
        withinMs: 3_000,
      });
      expect(error.message).toContain("[redacted");
      expect(harness.logged.some((line) => line.includes("<- "))).toBe(true);
    },
  );
}
