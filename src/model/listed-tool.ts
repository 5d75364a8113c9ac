/** A tool as its server lists it; the input of the user's filters and mappers. */

/** A JSON Schema object, as the server sent it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Hints from the server about a tool. They are claims: do not rely on them unless you trust the server. */
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** A tool of one server, before it gets its public name. */
export interface ListedTool {
  /** Name of the tool on the server. */
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

/** The server, as callbacks receive it. */
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
