/** `toolport console`: a page on this machine that shows the servers at work, until Ctrl-C. */
import { createServer } from "node:net";
import { CALLBACK_PATH, startConsole } from "../../console/start-console.js";
import { CliError } from "../cli-error.js";
import { type CommandModule, flagOption, type Invocation, textOption } from "../command.js";
import type { Shell } from "../shell.js";

const HOST = "127.0.0.1";

export const run: CommandModule["run"] = async (invocation, shell) => {
  // Chosen before there is a page: servers are told where a login comes back to.
  const port = readPort(invocation) || (await findFreePort());
  const callbackUrl = `http://${HOST}:${port}${CALLBACK_PATH}`;
  const { toolport, store, sources, leftOut } = await shell.openPort({ options: { callbackUrl } });
  for (const [name, { message }] of leftOut) shell.warn(`${name} is not in the console: ${message}`);
  const page = await startConsole({
    toolport,
    store,
    sources: Object.fromEntries(
      Object.entries(sources).map(([name, { file, line, kind }]) => [name, file ? `${file}:${line}` : kind]),
    ),
    port,
    open: flagOption(invocation, "open"),
    log: (message) => shell.tell(message),
  });
  shell.onExit(() => page.close());
  show(page.url, shell);
  return new Promise(() => {});
};

function show(url: string, shell: Shell): void {
  if (shell.form === "json") return shell.printJson({ url }, { isLine: true });
  shell.print(url);
  shell.tell("Whoever has this address can use your servers. Ctrl-C ends it.");
}

function readPort(invocation: Invocation): number {
  const text = textOption(invocation, "port");
  const port = Number(text ?? 0);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new CliError({
    message: "--port needs a number from 0 to 65535",
    next: "toolport console --port 7444",
  });
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, HOST, resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}
