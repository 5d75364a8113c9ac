/** Renders one prompt of one server. */

import { CatalogError, didYouMean, type PromptInfo, suggest, ToolCallError } from "@toolport/base";
import type { ContentBlock } from "../execution/tool-result.js";
import type { PortCore } from "./port-core.js";
import type { AccessOptions } from "./server-access.js";

/** A rendered prompt. */
export interface PromptResult {
  readonly server: string;
  readonly name: string;
  readonly description?: string | undefined;
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly content: ContentBlock }[];
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

export function getPrompt(
  port: PortCore,
  { server, name, args }: { server: string; name: string; args: Readonly<Record<string, string>> },
  { context, ...wait }: AccessOptions,
): Promise<PromptResult> {
  const timeoutMs = wait.timeoutMs ?? port.parts.settings.timeoutMs;
  const message = { name, arguments: args };
  return port.observe({ kind: "prompt", server, name, message, context }, async () => {
    const connection = port.pool.require(server);
    await connection.acquire({ signal: wait.signal, timeoutMs });
    port.assertOffered(server, "prompts", name);
    const known = port.catalog.prompts().filter((prompt) => prompt.server === server);
    const prompt = known.find((each) => each.name === name);
    const names = known.map((each) => each.name);
    if (names.length > 0 && prompt === undefined) throw promptMissing(server, name, names);
    const missing = missingArguments(prompt, args);
    if (missing.length > 0) throw argumentsMissing(server, name, missing);
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

/** Names of required arguments that are missing. The declaration of the server has not been validated. */
function missingArguments(prompt: PromptInfo | undefined, args: Readonly<Record<string, unknown>>): string[] {
  const declared: readonly unknown[] = Array.isArray(prompt?.arguments) ? prompt.arguments : [];
  return declared.flatMap((each) => {
    const { name, required } = Object(each) as { name?: unknown; required?: unknown };
    const isGiven = typeof name !== "string" || (Object.hasOwn(args, name) && args[name] !== undefined);
    return required === true && !isGiven ? [name] : [];
  });
}

function argumentsMissing(server: string, name: string, missing: readonly string[]): ToolCallError {
  const named = missing.map((each) => JSON.stringify(each)).join(", ");
  return new ToolCallError({
    code: "INVALID_ARGUMENTS",
    server,
    what: `Nothing was sent: the prompt ${JSON.stringify(name)} needs ${named}`,
    next: "Pass all required arguments; prompts() lists them",
    outcome: "unsent",
    issues: missing.map((each) => ({ path: each, message: "is required" })),
  });
}

/** The error for a prompt that the server does not list. */
export function promptMissing(server: string, name: string, known: readonly string[]): CatalogError {
  const suggestions = suggest(name, known);
  return new CatalogError({
    code: "PROMPT_NOT_FOUND",
    server,
    what: `There is no prompt named ${JSON.stringify(name)}`,
    next: didYouMean(suggestions, "See prompts() for the available prompts"),
    suggestions,
  });
}
