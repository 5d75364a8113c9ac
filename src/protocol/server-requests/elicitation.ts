/** Elicitation: the option `onElicitation`, and handling `elicitation/create` with it. */
import type { ClientCapabilities } from "@modelcontextprotocol/client";
import { ToolCallError } from "../../errors/toolport-error.js";
import { isRecord } from "../../util/json.js";
import { completeForm, type FormValue } from "./complete-form.js";
import {
  type ElicitationRequest,
  type FormElicitation,
  readElicitation,
  type UrlElicitation,
} from "./elicitation-request.js";
import { notServed, type RequestOrigin, runCallback, unusableCallbackResult } from "./run-callback.js";

/** The decision of the user. The content of an accepted form is validated, and missing fields get the defaults of the form. */
export type ElicitationAnswer =
  | { readonly action: "accept"; readonly content?: Readonly<Record<string, FormValue>> | undefined }
  | { readonly action: "decline" | "cancel" };

/** Asks the user on behalf of a server. */
export type ElicitationHandler<Request extends ElicitationRequest = FormElicitation> = (
  request: Request,
  origin: RequestOrigin,
) => ElicitationAnswer | Promise<ElicitationAnswer>;

/**
 * Asks the user on behalf of servers. A function handles forms; an object handles the modes it names, and only these are
 * advertised to servers. Always show which server asks, and let the user decline.
 *
 * @example
 * ```ts
 * const onElicitation: ElicitationOption = {
 *   form: async ({ message, requestedSchema }, { server, tool, signal }) => {
 *     const content = await showForm(`${server} (${tool ?? "?"}) asks: ${message}`, requestedSchema, signal);
 *     return content === undefined ? { action: "decline" } : { action: "accept", content };
 *   },
 *   url: async ({ url, host, isPunycode }, { server }) =>
 *     (await confirm(`${server} wants you to open ${host}${isPunycode ? " (look twice!)" : ""}:\n${url}`))
 *       ? { action: "accept" }
 *       : { action: "decline" },
 * };
 * ```
 */
export type ElicitationOption =
  | ElicitationHandler<FormElicitation>
  | {
      readonly form?: ElicitationHandler<FormElicitation> | undefined;
      readonly url?: ElicitationHandler<UrlElicitation> | undefined;
    };

const modesOf = (option: ElicitationOption | undefined) =>
  typeof option === "function" ? { form: option } : { ...option };

/** The capability to advertise; undefined: none. */
export function elicitationCapability(
  option: ElicitationOption | undefined,
): ClientCapabilities["elicitation"] {
  const { form, url } = modesOf(option);
  if (form === undefined && url === undefined) return undefined;
  return { ...(form && { form: { applyDefaults: true } }), ...(url && { url: {} }) };
}

/** Handles `elicitation/create`. */
export async function handleElicitation(
  params: Readonly<Record<string, unknown>>,
  origin: RequestOrigin,
  { option, report }: { option: ElicitationOption | undefined; report: (error: unknown) => void },
): Promise<Record<string, unknown>> {
  const modes = modesOf(option);
  const mode = params["mode"] === "url" ? "url" : "form";
  if (modes[mode] === undefined) throw notServed(origin, REQUESTED[mode]);
  const request = readElicitation(params, origin);
  switch (request.mode) {
    case "form":
      return handleForm(request, origin, modes.form!);
    case "url":
      return { action: (await ask(request, origin, modes.url!)).action };
    default:
      report(declinedUrl(request.why, origin));
      return { action: "decline" };
  }
}

const REQUESTED = {
  form: { requested: "that the user fills in a form (elicitation/create)", option: "onElicitation" },
  url: { requested: "that the user opens a web page (elicitation/create)", option: "onElicitation: { url }" },
} as const;

async function handleForm(
  request: FormElicitation,
  origin: RequestOrigin,
  handler: ElicitationHandler<FormElicitation>,
): Promise<Record<string, unknown>> {
  const answer = await ask(request, origin, handler);
  if (answer.action !== "accept") return { action: answer.action };
  const given: unknown = answer.content ?? {};
  if (!isRecord(given))
    throw unusableCallbackResult(OPTION, origin, { what: "its content is not an object" });
  const form = completeForm(request.requestedSchema, given);
  if ("content" in form) return { action: "accept", content: form.content };
  throw unusableCallbackResult(OPTION, origin, {
    // Field names and rules only: error messages must not contain what the user typed.
    what: form.issues.map(({ path, message }) => `${path} ${message}`).join(", "),
    issues: form.issues,
  });
}

const OPTION = "onElicitation";

async function ask<Request extends ElicitationRequest>(
  request: Request,
  origin: RequestOrigin,
  handler: ElicitationHandler<Request>,
): Promise<ElicitationAnswer> {
  const answer = await runCallback(OPTION, origin, () => handler(request, origin));
  if (["accept", "decline", "cancel"].includes(answer?.action)) return answer;
  throw unusableCallbackResult(OPTION, origin, { what: "its action is not accept, decline or cancel" });
}

/** Reported in place of a question with a URL that users must not see. */
export function declinedUrl(
  why: string,
  { server, tool }: { readonly server: string; readonly tool?: string | undefined },
): ToolCallError {
  return new ToolCallError({
    code: "REFUSED",
    server,
    tool,
    what: `The server asked the user to open a URL. Toolport declined it without asking the user: ${why}`,
    next: "Report this to the author of the server",
  });
}
