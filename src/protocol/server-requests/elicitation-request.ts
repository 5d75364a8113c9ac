/** Reads and validates the parameters of `elicitation/create`. */
import type { ElicitRequestFormParams } from "@modelcontextprotocol/client";
import { ToolCallError } from "../../errors/toolport-error.js";
import { isRecord } from "../../util/json.js";
import { redactText } from "../../util/redact-text.js";

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
export interface BlockedUrl {
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
