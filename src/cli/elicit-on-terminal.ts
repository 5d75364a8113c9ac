/** Asks the user at the terminal when a server elicits input during a call. */
import type { ToolportOptions } from "../port/options.js";
import type { FormValue } from "../protocol/server-requests/complete-form.js";
import type { FormElicitation, UrlElicitation } from "../protocol/server-requests/elicitation-request.js";
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
  const answer = await context.ask("Answer? [y/N] ");
  if (!["y", "yes"].includes((answer ?? "").trim().toLowerCase())) return undefined;
  const required = requestedSchema.required ?? [];
  const content: Record<string, FormValue> = {};
  for (const [name, field] of Object.entries(requestedSchema.properties)) {
    const { type, title, description } = field as { type?: string; title?: string; description?: string };
    const hint = [description, type, required.includes(name) ? "required" : "optional"]
      .filter(Boolean)
      .join(", ");
    const given = await context.ask(`  ${title ?? name} (${hint}): `);
    if (given === undefined) return undefined;
    if (given !== "") content[name] = toValue(given, type);
  }
  return content;
}

/** Invalid values are passed on: the validation of the form reports them. */
function toValue(given: string, type: string | undefined): FormValue {
  if (type === "boolean") return ["y", "yes", "true"].includes(given.trim().toLowerCase());
  if (type === "array") return given.split(",").map((item) => item.trim());
  const number = Number(given);
  return (type === "number" || type === "integer") && !Number.isNaN(number) ? number : given;
}

/** Shows the full URL and never opens it. */
async function visit(
  context: CommandContext,
  { message, url, host, isPunycode }: UrlElicitation,
  server: string,
): Promise<boolean> {
  context.info(plainBlock(`${server} asks: ${message}`).split("\n"), "yellow");
  context.info(
    `It asks you to open a page of ${host}${isPunycode ? " (careful: this name may imitate another host)" : ""}:`,
  );
  context.info(`  ${url}`);
  const answer = await context.ask("Have you opened it? [y/N] ");
  return ["y", "yes"].includes((answer ?? "").trim().toLowerCase());
}
