/** Servers that ask the user something during a call: answered at the terminal, and not offered without one. */
import type { ToolportOptions } from "../port/options.js";
import type { FormValue } from "../protocol/server-requests/complete-form.js";
import type { FormElicitation, UrlElicitation } from "../protocol/server-requests/elicitation-request.js";
import { plainBlock } from "./plain-text.js";
import type { Shell } from "./shell.js";
import { createTurns } from "./turns.js";

/** Options of the port: forms and addresses, if there is somebody to ask; log messages, if somebody wants to know. */
export function answerForms(shell: Shell): Omit<ToolportOptions, "mcpServers" | "store"> {
  // A second server waits until the first form is done: an answer must not go to the wrong server.
  const inTurn = createTurns();
  return {
    ...(shell.isVerbose && {
      onLog: ({ server, level, data }) => shell.tell(`${server}: ${level}: ${text(data)}`, "dim"),
    }),
    ...(shell.isInteractive && {
      onElicitation: {
        form: async (request, { server }) => {
          const content = await inTurn(() => fillIn(shell, request, server));
          return content === undefined ? { action: "decline" } : { action: "accept", content };
        },
        url: async (request, { server }) => ({
          action: (await inTurn(() => visit(shell, request, server))) ? "accept" : "decline",
        }),
      },
    }),
  };
}

const text = (data: unknown): string => (typeof data === "string" ? data : JSON.stringify(data));

async function fillIn(
  shell: Shell,
  { message, requestedSchema }: FormElicitation,
  server: string,
): Promise<Record<string, FormValue> | undefined> {
  shell.tell(plainBlock(`${server} asks: ${message}`).split("\n"), "yellow");
  const answer = await shell.ask("Answer? [y/N] ");
  if (!["y", "yes"].includes((answer ?? "").trim().toLowerCase())) return undefined;
  const required = requestedSchema.required ?? [];
  const content: Record<string, FormValue> = {};
  for (const [name, field] of Object.entries(requestedSchema.properties)) {
    const { type, title, description } = field as { type?: string; title?: string; description?: string };
    const hint = [description, type, required.includes(name) ? "needed" : "may be empty"]
      .filter(Boolean)
      .join(", ");
    const given = await shell.ask(`  ${title ?? name} (${hint}): `);
    if (given === undefined) return undefined;
    if (given !== "") content[name] = toValue(given, type);
  }
  return content;
}

/** What does not fit is told by the form's own check. */
function toValue(given: string, type: string | undefined): FormValue {
  if (type === "boolean") return ["y", "yes", "true"].includes(given.trim().toLowerCase());
  if (type === "array") return given.split(",").map((item) => item.trim());
  const number = Number(given);
  return (type === "number" || type === "integer") && !Number.isNaN(number) ? number : given;
}

/** The address is shown whole and never opened from here. */
async function visit(
  shell: Shell,
  { message, url, host, isPunycode }: UrlElicitation,
  server: string,
): Promise<boolean> {
  shell.tell(plainBlock(`${server} asks: ${message}`).split("\n"), "yellow");
  shell.tell(
    `It wants you to open a page of ${host}${isPunycode ? " (look twice: this name may imitate another)" : ""}:`,
  );
  shell.tell(`  ${url}`);
  const answer = await shell.ask("Have you opened it? [y/N] ");
  return ["y", "yes"].includes((answer ?? "").trim().toLowerCase());
}
