/** `toolport watch`: prints events of the servers, one JSON line each, until Ctrl-C. */
import type { CommandContext, CommandSpec, OpenedPort, RunCommand } from "../command.js";
import { OPTIONAL_SERVER, TYPED_OPTIONS } from "../command-options.js";
import { errorDocument } from "../errors.js";

export const watchCommand: CommandSpec = {
  name: "watch",
  summary: "Print events of the servers, one JSON line each, until Ctrl-C",
  group: "look",
  positionals: [{ ...OPTIONAL_SERVER, rest: true, summary: "Only these servers" }],
  options: TYPED_OPTIONS,
  takesTyped: "servers",
  examples: [["toolport watch | jq -r .server", "every event names its server"]],
  load: async () => (await import("./watch.js")).runWatch,
};

/** Interval of health checks. */
const HEALTH_CHECK_MS = 30_000;
const DAY_MS = 86_400_000;

export const runWatch: RunCommand = async (context) => {
  const { words } = context;
  const opened = await context.openPort({
    servers: words,
    asksOnTerminal: false,
    options: { healthCheck: { intervalMs: HEALTH_CHECK_MS } },
  });
  listen(context, opened);
  for (const [server, error] of opened.leftOut)
    if (error.code === "NOT_TRUSTED")
      printEvent(context, "untrusted", { server, error: errorDocument(error) });
  // Keep the process alive while no server is connected.
  const awake = setInterval(() => {}, DAY_MS);
  context.onExit(() => clearInterval(awake));
  await opened.toolport.connect({ signal: context.signal });
  return new Promise(() => {});
};

function listen(context: CommandContext, { toolport }: OpenedPort): void {
  const print = (event: string, details: object) => printEvent(context, event, details);
  const stops = [
    toolport.on("state", ({ server, from, to, reason, error }) => {
      const details = error && { error: errorDocument(error) };
      print("state", { server, from, to, reason, ...details });
    }),
    toolport.on("tools", ({ server }) => {
      print("tools", { server, toolCount: toolport.snapshot().servers[server]?.toolCount ?? 0 });
    }),
    toolport.on("listsChanged", ({ server, lists }) => print("listsChanged", { server, lists })),
    toolport.on("toolChanged", ({ server, tool }) => print("toolChanged", { server, tool })),
    toolport.on("notification", ({ server, method, params }) =>
      print("notification", { server, method, params }),
    ),
    toolport.on("warning", ({ server, message }) => print("warning", { server, message })),
  ];
  // Events after this point come from our own `close()`.
  context.onExit(() => {
    for (const stop of stops) stop();
  });
}

const printEvent = (context: CommandContext, event: string, details: object): void =>
  context.printJson({ at: new Date().toISOString(), event, ...details }, { isLine: true });
