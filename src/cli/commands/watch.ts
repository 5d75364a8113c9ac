/** `toolport watch`: what happens to the servers, a line of JSON per event, until somebody ends it. */
import type { Invocation } from "../command.js";
import { EXIT } from "../exit-codes.js";
import type { OpenedPort, Shell } from "../shell.js";
import { errorDocument } from "../tell-error.js";

/** How often servers are asked for a sign of life. */
const HEALTH_CHECK_MS = 30_000;
const DAY_MS = 86_400_000;

export async function run({ words }: Invocation, shell: Shell): Promise<number> {
  const opened = await shell.openPort({
    ...(words.length > 0 && { servers: words }),
    options: { healthCheck: { intervalMs: HEALTH_CHECK_MS } },
  });
  listen(shell, opened);
  for (const [server, error] of opened.leftOut)
    if (error.code === "NOT_TRUSTED") printEvent(shell, "untrusted", { server, error: errorDocument(error) });
  // Nothing else keeps the process alive while every server is down.
  const awake = setInterval(() => {}, DAY_MS);
  shell.onExit(() => clearInterval(awake));
  await opened.toolport.connect({ signal: shell.signal });
  await new Promise<void>((resolve) => {
    if (shell.signal.aborted) resolve();
    shell.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  return EXIT.ok;
}

function listen(shell: Shell, { toolport }: OpenedPort): void {
  const stops = [
    toolport.on("state", ({ server, from, to, reason, error }) =>
      printEvent(shell, "state", {
        ...{ server, from, to, reason },
        ...(error !== undefined && { error: errorDocument(error) }),
      }),
    ),
    toolport.on("tools", ({ server }) =>
      printEvent(shell, "tools", {
        server,
        toolCount: toolport.snapshot().servers[server]?.toolCount ?? 0,
      }),
    ),
    toolport.on("listsChanged", ({ server, lists }) => printEvent(shell, "listsChanged", { server, lists })),
    toolport.on("toolChanged", ({ server, tool }) => printEvent(shell, "toolChanged", { server, tool })),
    toolport.on("notification", ({ server, method, params }) =>
      printEvent(shell, "notification", { server, method, params }),
    ),
    toolport.on("warning", ({ server, message }) => printEvent(shell, "warning", { server, message })),
  ];
  // Closing is no news.
  shell.onExit(() => {
    for (const stop of stops) stop();
  });
}

const printEvent = (shell: Shell, event: string, details: Record<string, unknown>): void =>
  shell.printJson({ at: new Date().toISOString(), event, ...details }, { isLine: true });
