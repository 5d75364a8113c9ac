/** The caller's schemas, which give tools their types. */
import type { Tool } from "ai";
import type { AiSdkToolResult } from "./progress-results.js";

/** A schema that the AI SDK accepts: zod, any other Standard Schema, or its own `jsonSchema()`. */
export type AiSdkSchema = Tool["inputSchema"];

/** Schemas by the public names of tools. */
export type AiSdkToolSchemas = Readonly<
  Record<
    string,
    {
      readonly inputSchema: AiSdkSchema;
      /** The schema of `structuredContent`; a result that does not match is an error. */
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

/** The tools with schemas, with the types of the schemas. `Waiting`: the output of a call that waits for a person. */
export type TypedAiSdkTools<Schemas extends AiSdkToolSchemas, Waiting = never> = {
  [Name in keyof Schemas]: Tool<
    Inferred<Schemas[Name]["inputSchema"]>,
    AiSdkToolResult<OutputOf<Schemas[Name]>> | Waiting
  >;
};

/** The JSON Schema of the output of an execution; contains that of the structured content. */
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
