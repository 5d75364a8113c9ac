/** A tool the way its server lists it, as filters and mappers of the user's see it. */

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

/** One tool on one server, before it gets its public name. */
export interface ListedTool {
  /** Its name on the server. */
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema | undefined;
  readonly annotations?: ToolAnnotations | undefined;
  readonly icons?: readonly Readonly<Record<string, unknown>>[] | undefined;
  readonly execution?: Readonly<Record<string, unknown>> | undefined;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

/** The server in every callback. */
export interface ServerRef {
  readonly name: string;
}

/**
 * Decides whether a tool is offered.
 *
 * @example
 * ```ts
 * const readOnly: ToolFilter = (server, tool) => tool.annotations?.readOnlyHint === true;
 * ```
 */
export type ToolFilter = (server: ServerRef, tool: ListedTool) => boolean;
