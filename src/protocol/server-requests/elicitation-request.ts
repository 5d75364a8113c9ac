/** What a server wants from the user, read from the wire and made fit to be shown. */
import type { ElicitRequestFormParams } from "@modelcontextprotocol/client";
import { ToolCallError } from "../../errors/tool-call-error.js";
import { redactText } from "../../util/redact-text.js";
import type { RequestOrigin } from "./request-origin.js";

/** The fields of a form: an object schema whose properties are texts, numbers, booleans and choices, never nested. */
export type FormSchema = ElicitRequestFormParams["requestedSchema"];

/** The server asks the user to fill in a form. */
export interface FormElicitation {
  readonly mode: "form";
  /** Why, in the server's words. */
  readonly message: string;
  readonly requestedSchema: FormSchema;
}

/**
 * The server asks the user to open a web page. Toolport never opens or fetches it: show the whole address, let the user
 * decide, and open it where neither this program nor the model can look.
 */
export interface UrlElicitation {
  readonly mode: "url";
  /** Why, in the server's words. */
  readonly message: string;
  /** The whole address, `http:` or `https:`, with non-ASCII letters written out so that nothing can hide in it. */
  readonly url: string;
  /** Host and port of the address in ASCII: what deserves to stand out. */
  readonly host: string;
  /** The host holds letters outside ASCII (`xn--…`) and may imitate another: warn. */
  readonly isPunycode: boolean;
  /** The server's own name for this request, where its revision of the protocol has one. */
  readonly elicitationId?: string | undefined;
}

/** Either kind of request to the user. */
export type ElicitationRequest = FormElicitation | UrlElicitation;

/** An address that no user is asked to open. */
export interface RefusedUrl {
  readonly mode: "refused-url";
  readonly why: string;
}

const FIELD_TYPES = new Set(["string", "number", "integer", "boolean", "array"]);

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Reads the parameters of `elicitation/create`. Throws a `PROTOCOL` error if they are not what MCP allows. */
export function readElicitation(
  params: Readonly<Record<string, unknown>>,
  { server, tool }: RequestOrigin,
): ElicitationRequest | RefusedUrl {
  const { mode = "form", message, requestedSchema, url, elicitationId } = params;
  const refuse = (what: string): never => {
    throw new ToolCallError({
      code: "PROTOCOL",
      server,
      tool,
      what: `The server asked for the user's input in a way MCP does not allow: ${what}`,
      next: "Report this to the maker of the server",
    });
  };
  if (typeof message !== "string") return refuse("it gives no message");
  if (mode === "form") {
    const fault = schemaFault(requestedSchema);
    if (fault !== undefined) return refuse(fault);
    return { mode, message, requestedSchema: requestedSchema as FormSchema };
  }
  if (mode !== "url") return refuse(`its mode is ${redactText(JSON.stringify(mode) ?? "unknown")}`);
  if (typeof url !== "string") return refuse("it gives no URL");
  const parsed = readAddress(url);
  if (typeof parsed === "string") return { mode: "refused-url", why: parsed };
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
    return "its schema is not that of an object";
  const { properties, required } = schema;
  if (
    required !== undefined &&
    !(Array.isArray(required) && required.every((key) => typeof key === "string"))
  )
    return "its schema's `required` is not a list of names";
  for (const [name, field] of Object.entries(properties)) {
    if (!isRecord(field) || !FIELD_TYPES.has(field["type"] as string))
      return `its field ${redactText(JSON.stringify(name))} is not a text, a number, a boolean or a choice`;
    if (field["type"] === "array" && !isRecord(field["items"]))
      return `its field ${redactText(JSON.stringify(name))} does not say what can be chosen`;
  }
  return undefined;
}

/** The address, or why it is not shown to anybody. */
function readAddress(text: string): URL | string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return "it is not a URL";
  }
  if (url.protocol !== "https:" && url.protocol !== "http:")
    return `its scheme is ${redactText(url.protocol)}`;
  // Nobody logs in like this any more; `https://bank.example@evil.example` only lives from being misread.
  if (url.username !== "" || url.password !== "") return "it hides its host behind a user name";
  return url;
}
