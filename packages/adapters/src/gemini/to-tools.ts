/** Converts tools to the format of Gemini's API: plain JSON for `config.tools` of a request. */
import { type OfferOptions, offeredTools } from "../offered-tools.js";
import type { ToolSource } from "../tool-source.js";

/** One tool. Its schema is in one of the two fields, as the option `schema` says. */
export interface GeminiFunctionDeclaration {
  name: string;
  description?: string;
  /** JSON Schema. */
  parametersJsonSchema?: Record<string, unknown>;
  /** The older subset of OpenAPI 3.0. */
  parameters?: Record<string, unknown>;
}

/** All tools, as one entry of `tools` of a request. */
export interface GeminiTool {
  functionDeclarations: GeminiFunctionDeclaration[];
}

/** Options of `toGeminiTools()`. */
export interface GeminiToolsOptions extends OfferOptions {
  /**
   * Which form the schemas have: JSON Schema (`parametersJsonSchema`), or the older subset of OpenAPI (`parameters`).
   * @default "json"
   */
  readonly schema?: "json" | "openapi" | undefined;
}

/**
 * Returns the tools for a request to Gemini: one entry with all declarations, or none if there are no tools.
 *
 * @example
 * ```ts
 * const tools = await toGeminiTools(toolport);
 * const response = await gemini.models.generateContent({ model, contents, config: { tools } });
 * contents.push(response.candidates[0].content);
 * contents.push(...(await runGeminiToolCalls(toolport, response, { tools })));
 * ```
 */
export async function toGeminiTools(
  toolport: ToolSource,
  options: GeminiToolsOptions = {},
): Promise<GeminiTool[]> {
  const { schema = "json" } = options;
  const offered = await offeredTools(toolport, options, `gemini-${schema}`);
  if (offered.length === 0) return [];
  const functionDeclarations = offered.map(({ tool: { name }, derived, description }) => ({
    name,
    ...(description !== undefined && { description }),
    ...(schema === "json" && { parametersJsonSchema: derived.schema }),
    // Older models reject an object without properties: a function without arguments has no parameters.
    ...(schema === "openapi" && derived.schema["properties"] !== undefined && { parameters: derived.schema }),
  }));
  return [{ functionDeclarations }];
}
