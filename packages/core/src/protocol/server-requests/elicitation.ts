/** Questions of servers to the user: reading them, forms that Toolport completes, and the callback that answers. */
import type { ClientCapabilities, ElicitRequestFormParams } from "@modelcontextprotocol/client";
import { canParseUrl, isRecord, redactText, ToolCallError } from "@toolport/base";
import { notServed, type RequestOrigin, runCallback, unusableCallbackResult } from "./sampling-and-roots.js";

/** The fields of a form: a flat object schema whose properties are strings, numbers, booleans and choices. */
export type FormSchema = ElicitRequestFormParams["requestedSchema"];

/** The server asks the user to fill in a form. */
export interface FormElicitation {
  readonly mode: "form";
  /** The reason that the server gives. */
  readonly message: string;
  readonly requestedSchema: FormSchema;
}

/**
 * The server asks the user to open a web page. Toolport never opens or fetches it. Show the whole URL, let the user decide,
 * and open it where neither this program nor the model can read the page.
 */
export interface UrlElicitation {
  readonly mode: "url";
  /** The reason that the server gives. */
  readonly message: string;
  /** The whole URL, `http:` or `https:`. Non-ASCII characters are escaped, so that none can be hidden in it. */
  readonly url: string;
  /** Host and port of the URL in ASCII. Display it prominently. */
  readonly host: string;
  /** The host contains non-ASCII letters (`xn--…`) and may imitate another host: warn the user. */
  readonly isPunycode: boolean;
  /** The id that the server gave this request, if its protocol revision has one. */
  readonly elicitationId?: string | undefined;
}

/** A form or a web page. */
export type ElicitationRequest = FormElicitation | UrlElicitation;

/** A URL that Toolport does not show to the user. */
interface BlockedUrl {
  readonly mode: "blocked-url";
  readonly why: string;
}

const FIELD_TYPES = new Set(["string", "number", "integer", "boolean", "array"]);

/** Throws a `PROTOCOL` error if MCP does not allow the parameters. */
export function readElicitation(
  params: Readonly<Record<string, unknown>>,
  { server, tool }: { readonly server: string; readonly tool?: string | undefined },
): ElicitationRequest | BlockedUrl {
  const { mode = "form", message, requestedSchema, url, elicitationId } = params;
  const fail = (what: string): never => {
    throw new ToolCallError({
      code: "PROTOCOL",
      server,
      tool,
      what: `The server requested user input in a way that MCP does not allow: ${what}`,
      next: "Report this to the author of the server",
    });
  };
  if (typeof message !== "string") return fail("the message is missing");
  if (mode === "form") {
    const fault = schemaFault(requestedSchema);
    if (fault !== undefined) return fail(fault);
    return { mode, message, requestedSchema: requestedSchema as FormSchema };
  }
  if (mode !== "url") return fail(`the mode is ${redactText(JSON.stringify(mode) ?? "unknown")}`);
  if (typeof url !== "string") return fail("the URL is missing");
  const parsed = readUrl(url);
  if (typeof parsed === "string") return { mode: "blocked-url", why: parsed };
  return {
    mode,
    message,
    url: parsed.href,
    host: parsed.host,
    isPunycode: parsed.hostname.split(".").some((label) => label.startsWith("xn--")),
    ...(typeof elicitationId === "string" && { elicitationId }),
  };
}

function schemaFault(schema: unknown): string | undefined {
  if (!isRecord(schema) || schema["type"] !== "object" || !isRecord(schema["properties"]))
    return "the schema does not describe an object";
  const { properties, required } = schema;
  if (
    required !== undefined &&
    !(Array.isArray(required) && required.every((key) => typeof key === "string"))
  )
    return "`required` in the schema is not a list of names";
  for (const [name, field] of Object.entries(properties)) {
    if (!isRecord(field) || !FIELD_TYPES.has(field["type"] as string))
      return `the field ${redactText(JSON.stringify(name))} is not a string, a number, a boolean or a choice`;
    if (field["type"] === "array" && !isRecord(field["items"]))
      return `the field ${redactText(JSON.stringify(name))} does not list its choices`;
  }
  return undefined;
}

/** The URL, or the reason why the user must not see it. */
function readUrl(text: string): URL | string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return "it is not a URL";
  }
  if (url.protocol !== "https:" && url.protocol !== "http:")
    return `its scheme is ${redactText(url.protocol)}`;
  // `https://bank.example@evil.example` leads to evil.example: user names in URLs mainly serve phishing.
  if (url.username !== "" || url.password !== "")
    return "it contains a user name, which can hide the real host";
  return url;
}

/** A value of a form field. */
export type FormValue = string | number | boolean | string[];

/** A problem with one field. */
interface FormIssue {
  readonly path: string;
  readonly message: string;
}

/** The schema of one field. Nothing is guaranteed: it comes from the server. */
interface Field {
  type?: unknown;
  enum?: unknown;
  oneOf?: unknown;
  format?: unknown;
  minLength?: unknown;
  maxLength?: unknown;
  minimum?: unknown;
  maximum?: unknown;
  minItems?: unknown;
  maxItems?: unknown;
  items?: { enum?: unknown; anyOf?: unknown };
  default?: unknown;
}

/**
 * Fills in defaults for missing fields, then validates every field.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
 */
export function completeForm(
  schema: FormSchema,
  given: Readonly<Record<string, unknown>>,
): { content: Record<string, FormValue> } | { issues: FormIssue[] } {
  const fields = Object.entries(schema.properties as Record<string, Field>);
  const required = new Set(schema.required);
  const issues: FormIssue[] = [];
  const content: [string, FormValue][] = [];
  for (const [path, field] of fields) {
    const value =
      Object.hasOwn(given, path) && given[path] !== undefined ? given[path] : usableDefault(field);
    if (value === undefined) {
      if (required.has(path)) issues.push({ path, message: "is required" });
      continue;
    }
    const fault = fieldFault(field, value);
    if (fault === undefined) content.push([path, value as FormValue]);
    else issues.push({ path, message: fault });
  }
  const asked = new Set(fields.map(([name]) => name));
  // Values that the server did not request must not be sent.
  for (const path of Object.keys(given))
    if (!asked.has(path) && given[path] !== undefined) issues.push({ path, message: "was not asked for" });
  return issues.length > 0 ? { issues } : { content: Object.fromEntries(content) };
}

/** Ignores a default that violates the rules of its own field: the user is not responsible for it. */
const usableDefault = (field: Field): unknown =>
  field.default !== undefined && fieldFault(field, field.default) === undefined ? field.default : undefined;

function fieldFault(field: Field, value: unknown): string | undefined {
  switch (field.type) {
    case "string":
      return typeof value === "string" ? textFault(field, value) : "must be a string";
    case "boolean":
      return typeof value === "boolean" ? undefined : "must be true or false";
    case "number":
      return isNumber(value) ? rangeFault(field, value) : "must be a number";
    case "integer":
      return isNumber(value) && Number.isInteger(value) ? rangeFault(field, value) : "must be a whole number";
    default:
      return choicesFault(field, value);
  }
}

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

function textFault(field: Field, value: string): string | undefined {
  const options = optionsOf(field.enum, field.oneOf);
  if (options !== undefined) return options.includes(value) ? undefined : "is not one of the choices";
  // JSON Schema counts code points, not UTF-16 units.
  const length = [...value].length;
  if (isNumber(field.minLength) && length < field.minLength) return `is shorter than ${field.minLength}`;
  if (isNumber(field.maxLength) && length > field.maxLength) return `is longer than ${field.maxLength}`;
  const format = typeof field.format === "string" ? FORMATS.get(field.format) : undefined;
  return format === undefined || format.fits(value) ? undefined : `is not ${format.name}`;
}

function rangeFault({ minimum, maximum }: Field, value: number): string | undefined {
  if (isNumber(minimum) && value < minimum) return `is less than ${minimum}`;
  if (isNumber(maximum) && value > maximum) return `is more than ${maximum}`;
  return undefined;
}

function choicesFault({ items, minItems, maxItems }: Field, value: unknown): string | undefined {
  if (!Array.isArray(value) || !value.every((item) => typeof item === "string"))
    return "must be a list of strings";
  if (isNumber(minItems) && value.length < minItems) return `has fewer than ${minItems} choices`;
  if (isNumber(maxItems) && value.length > maxItems) return `has more than ${maxItems} choices`;
  const options = optionsOf(items?.enum, items?.anyOf);
  if (options === undefined) return undefined;
  return value.every((item) => options.includes(item)) ? undefined : "is not among the choices";
}

/** Choices are listed as plain values, or as objects with a title. */
function optionsOf(values: unknown, titled: unknown): readonly unknown[] | undefined {
  if (Array.isArray(values)) return values;
  if (!Array.isArray(titled)) return undefined;
  return titled.map((option) => (option as { const?: unknown } | null)?.const);
}

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DATE_TIME = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d{1,12})?(?:[Zz]|[+-]\d{2}:\d{2})$/;
const EMAIL = /^[^\s@]{1,254}@[^\s@]{1,254}$/;

/** The four formats of the specification; any other format is ignored. */
const FORMATS = new Map<string, { name: string; fits: (value: string) => boolean }>([
  ["email", { name: "an e-mail address", fits: (value) => EMAIL.test(value) }],
  ["uri", { name: "a URI", fits: (value) => canParseUrl(value) }],
  ["date", { name: "a date", fits: (value) => DATE.test(value) && isDay(value) }],
  ["date-time", { name: "a date with a time", fits: (value) => DATE_TIME.test(value) && isDay(value) }],
]);

/** `Date` reads 31 February as a day in March, so the date is formatted again and compared. */
function isDay(value: string): boolean {
  const day = value.slice(0, 10);
  const time = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day);
}

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
