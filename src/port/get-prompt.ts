/** Renders one prompt of one server. */
import { CatalogError } from "../errors/catalog-error.js";
import type { ContentBlock } from "../execution/tool-result.js";
import { suggest } from "../util/suggest.js";
import type { AccessOptions } from "./access-options.js";
import type { Port } from "./port.js";

/** A rendered prompt. */
export interface PromptResult {
  readonly server: string;
  readonly name: string;
  readonly description?: string | undefined;
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly content: ContentBlock }[];
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

export function getPrompt(
  port: Port,
  { server, name, args }: { server: string; name: string; args: Readonly<Record<string, string>> },
  { context, ...wait }: AccessOptions,
): Promise<PromptResult> {
  const { settings, around } = port.parts;
  const timeoutMs = wait.timeoutMs ?? settings.timeoutMs;
  const message = { name, arguments: args };
  const event = { kind: "prompt" as const, server, name, message, context, principal: port.principal?.name };
  return around(event, async () => {
    const connection = port.pool.require(server);
    await connection.acquire({ signal: wait.signal, timeoutMs });
    const reason = port.catalog.refusalOf(server, "prompts", name);
    if (reason !== undefined) throw promptWithheld(server, name, reason);
    const known = port.catalog.prompts().filter((prompt) => prompt.server === server);
    const names = known.map((prompt) => prompt.name);
    if (names.length > 0 && !names.includes(name)) throw promptMissing(server, name, names);
    const request = { method: "prompts/get", params: message, prompt: name };
    const result = await port.ask(connection, request, wait);
    return {
      server,
      name,
      description: result["description"] as string | undefined,
      messages: (result["messages"] ?? []) as PromptResult["messages"],
      _meta: result["_meta"] as PromptResult["_meta"],
    };
  });
}

function promptWithheld(server: string, name: string, reason: string): CatalogError {
  return new CatalogError({
    code: "PROMPT_NOT_FOUND",
    server,
    what: `The prompt ${JSON.stringify(name)} is withheld: ${reason}`,
    reason,
  });
}

/** The error for a name that a server does not list. */
export function promptMissing(server: string, name: string, known: readonly string[]): CatalogError {
  const suggestions = suggest(name, known);
  return new CatalogError({
    code: "PROMPT_NOT_FOUND",
    server,
    what: `There is no prompt named ${JSON.stringify(name)}`,
    next:
      suggestions.length > 0
        ? `Did you mean ${suggestions.join(" or ")}?`
        : "Look at prompts() for what there is",
    suggestions,
  });
}
