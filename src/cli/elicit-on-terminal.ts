/** Asks the user at the terminal when a server elicits input during a call. */
import type { ToolportOptions } from "../port/options.js";
import type { FormValue } from "../protocol/server-requests/complete-form.js";
import type { FormElicitation, UrlElicitation } from "../protocol/server-requests/elicitation-request.js";
import { askForm } from "./ask-form.js";
import { askYesNo } from "./ask-yes-no.js";
import type { CommandContext } from "./command-context.js";
import { createSerialQueue } from "./create-serial-queue.js";
import { plainBlock } from "./plain-text.js";

/** Options of the port: elicitation on a terminal only, log messages with `--verbose` only. */
export function elicitOnTerminal(context: CommandContext): Omit<ToolportOptions, "mcpServers" | "store"> {
  // Show one form at a time, so that no answer goes to the wrong server.
  const enqueue = createSerialQueue();
  return {
    ...(context.isVerbose && {
      onLog: ({ server, level, data }) => context.info(`${server}: ${level}: ${text(data)}`, "dim"),
    }),
    ...(context.isInteractive && {
      onElicitation: {
        form: async (request, { server }) => {
          const content = await enqueue(() => fillIn(context, request, server));
          return content === undefined ? { action: "decline" } : { action: "accept", content };
        },
        url: async (request, { server }) => ({
          action: (await enqueue(() => visit(context, request, server))) ? "accept" : "decline",
        }),
      },
    }),
  };
}

const text = (data: unknown): string => (typeof data === "string" ? data : JSON.stringify(data));

async function fillIn(
  context: CommandContext,
  { message, requestedSchema }: FormElicitation,
  server: string,
): Promise<Record<string, FormValue> | undefined> {
  context.info(plainBlock(`${server} asks: ${message}`).split("\n"), "yellow");
  return (await askYesNo(context, "Answer?")) ? askForm(context, requestedSchema) : undefined;
}

/** Shows the full URL and never opens it. */
async function visit(context: CommandContext, request: UrlElicitation, server: string): Promise<boolean> {
  context.info(plainBlock(`${server} asks: ${request.message}`).split("\n"), "yellow");
  context.info(describePage(request));
  return askYesNo(context, "Have you opened it?");
}

/** The host and the whole URL of a page that a server asks the user to open. */
export const describePage = ({ url, host, isPunycode }: UrlElicitation): string[] => [
  `It asks you to open a page of ${host}${isPunycode ? " (careful: this name may imitate another host)" : ""}:`,
  `  ${url}`,
];
