/** `toolport console`: serves a local web page that shows the servers, until Ctrl-C. `toolport demo`: the same with servers of its own. */

import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { createConsoleAnswers, startConsole } from "@toolport/console";
import { CALLBACK_PATH } from "@toolport/console/internal";
import type { CommandContext, CommandSpec, RunCommand } from "../command.js";
import { ANSWERED_BY_OPTION, flag, MODEL_OPTIONS, number, PRINCIPAL_OPTION } from "../command-options.js";
import { principalOf } from "../suspended-calls.js";

export const consoleCommand: CommandSpec = {
  name: "console",
  summary: "Show the servers in a local web page",
  group: "program",
  positionals: [],
  options: {
    port: number("<number>", "Port to listen on (any free one)", { min: 0, max: 65_535 }),
    open: flag("Open it in the browser"),
    ...PRINCIPAL_OPTION,
    ...ANSWERED_BY_OPTION,
  },
  examples: [["toolport console --open", "Ctrl-C ends it"]],
  load: async () => (await import("./console.js")).runConsole,
};

export const demoCommand: CommandSpec = {
  name: "demo",
  summary: "Run a demo with its own servers, on this machine only",
  group: "program",
  positionals: [],
  options: {
    console: flag("Keep the servers running and show them in the console, until Enter"),
    once: flag("End after the last step, even with --console"),
    ...MODEL_OPTIONS,
  },
  examples: [["toolport demo", "every transport, a login, a crash and a fallback, in seconds"]],
  load: async () => (await import("../demo/run-demo.js")).startDemo,
};

const HOST = "127.0.0.1";
/** The page renders user interfaces of tools. */
const APPS = { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } };

export const runConsole: RunCommand = async (context) => {
  // Choose the port first: it is part of the redirect URL of logins.
  const port = context.number("port") || (await findFreePort());
  const callbackUrl = `http://${HOST}:${port}${CALLBACK_PATH}`;
  const principal = principalOf(context);
  const answers = createConsoleAnswers();
  const { toolport, store, sources, leftOut } = await context.openPort({
    principal,
    asksOnTerminal: false,
    mayBeEmpty: true,
    options: { callbackUrl, logLevel: "info", extensions: APPS, ...answers.options },
  });
  for (const [name, { message }] of leftOut) context.warn(`${name} is not in the console: ${message}`);
  const page = await startConsole({
    toolport,
    store,
    answers,
    sources: Object.fromEntries(
      Object.entries(sources).map(([name, { file, line, kind }]) => [name, file ? `${file}:${line}` : kind]),
    ),
    answeredBy: context.text("answered-by"),
    port,
    open: context.flag("open"),
    log: (message) => context.info(message),
  });
  context.onExit(() => page.close());
  show(page.url, context);
  return new Promise(() => {});
};

function show(url: string, context: CommandContext): void {
  if (context.form === "json") return context.printJson({ url }, { isLine: true });
  context.print(url);
  context.info("Anyone with this URL can use your servers. Press Ctrl-C to stop.");
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, HOST);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
