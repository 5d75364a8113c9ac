/** A tool as the rest of the world sees it. */

/** Any JSON Schema object, exactly as the server sent it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Hints of the server's about a tool. They are claims: nothing safe may rest on them unless the server is trusted. */
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** One tool of one server. */
export interface ToolInfo {
  /** The name to give to a model and to `callTool`: valid for every provider and unlike any other. */
  readonly name: string;
  /** The server it belongs to, as configured. */
  readonly server: string;
  /** Its name on that server. */
  readonly sourceName: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema | undefined;
  readonly annotations?: ToolAnnotations | undefined;
  readonly icons?: readonly Readonly<Record<string, unknown>>[] | undefined;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

/** A tool that was listed but cannot be offered, and why. */
export interface WithheldTool {
  readonly server: string;
  /** Its name, or what stood in its place. */
  readonly name: string;
  readonly reason: string;
}
