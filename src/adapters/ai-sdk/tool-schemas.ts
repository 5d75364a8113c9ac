/** The caller's schemas, which give tools their types. */
import type { Tool } from "ai";
import type { AiSdkToolResult } from "./progress-results.js";

/** A schema as the AI SDK takes it: zod, any other Standard Schema, or its own `jsonSchema()`. */
export type AiSdkSchema = Tool["inputSchema"];

/** Schemas by the public names of tools. */
export type AiSdkToolSchemas = Readonly<
  Record<
    string,
    {
      readonly inputSchema: AiSdkSchema;
      /** What `structuredContent` of an answer is; an answer that is not so is an error. */
      readonly outputSchema?: AiSdkSchema;
    }
  >
>;

type Inferred<Schema> = Schema extends { readonly "~standard": { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : unknown
  : Schema extends { readonly _type: infer Output }
    ? Output
    : unknown;

type OutputOf<Entry> = Entry extends { readonly outputSchema: infer Schema } ? Inferred<Schema> : unknown;

/** The tools that were given schemas, with the types of these. */
export type TypedAiSdkTools<Schemas extends AiSdkToolSchemas> = {
  [Name in keyof Schemas]: Tool<
    Inferred<Schemas[Name]["inputSchema"]>,
    AiSdkToolResult<OutputOf<Schemas[Name]>>
  >;
};

/** What an execution gives, as JSON Schema around that of the tool's structured content. */
export const resultSchema = (
  structuredContent: Readonly<Record<string, unknown>>,
): Record<string, unknown> => ({
  type: "object",
  properties: {
    text: { type: "string" },
    content: { type: "array", items: { type: "object", properties: { type: { type: "string" } } } },
    structuredContent,
    isError: { type: "boolean" },
    server: { type: "string" },
    attempts: { type: "integer" },
    durationMs: { type: "number" },
  },
  required: ["text", "content", "isError", "server", "attempts", "durationMs"],
});
