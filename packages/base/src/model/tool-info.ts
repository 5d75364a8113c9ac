/** A tool as users and models see it. */
import { oncePerObject } from "../util/collections.js";
import { isRecord, jsonBytes } from "../util/json.js";

/** One tool of one server. */
export interface ToolInfo extends Omit<ListedTool, "name"> {
  /** The unique name for models and for `callTool`; valid for every provider. */
  readonly name: string;
  /** Name of the server, as configured. */
  readonly server: string;
  /** Name of the tool on that server. */
  readonly sourceName: string;
  /**
   * The fallback server that this definition comes from, because `server` has been unreachable since the port was created.
   * @default undefined: the definition comes from `server`
   */
  readonly definedBy?: string | undefined;
  /** The user interface of the tool that a host can render (MCP Apps), read from `_meta`. */
  readonly ui?: ToolUi | undefined;
}

/** A listed tool that cannot be offered, and the reason. */
export interface WithheldTool {
  readonly server: string;
  /** Name of the tool, or what the server sent instead. */
  readonly name: string;
  readonly reason: string;
  /** Withheld by pins or the scan; the definition itself is valid. */
  readonly isRefused?: true;
}

/*
 * MCP Apps: user interfaces that servers offer for their tools. The console renders them; programs get what the server declares.
 *
 * @see https://github.com/modelcontextprotocol/ext-apps
 */

/** A tool's user interface, as its server describes it. */
export interface ToolUi {
  /** The `ui://` resource to render; `readResource(tool.server, resourceUri)` reads it. */
  readonly resourceUri?: string | undefined;
  /**
   * Who may call the tool: the model, the interface itself, or both. Models do not see tools that are only for the interface.
   * @default both
   */
  readonly visibility?: readonly string[] | undefined;
}

const SCHEME = "ui://";
/** The key before `ui` became an object. */
const OLD_KEY = "ui/resourceUri";

const readUri = (uri: unknown): string | undefined =>
  typeof uri === "string" && uri.startsWith(SCHEME) ? uri : undefined;

/** Undefined for a tool without an interface. Ignores invalid fields. */
export function readToolUi(meta: Readonly<Record<string, unknown>> | undefined): ToolUi | undefined {
  if (meta === undefined) return undefined;
  const ui = isRecord(meta["ui"]) ? meta["ui"] : {};
  const resourceUri = readUri(ui["resourceUri"]) ?? readUri(meta[OLD_KEY]);
  const { visibility } = ui;
  const visible =
    Array.isArray(visibility) && visibility.every((who) => typeof who === "string") ? visibility : undefined;
  if (resourceUri === undefined && visible === undefined) return undefined;
  return Object.freeze({
    ...(resourceUri !== undefined && { resourceUri }),
    ...(visible !== undefined && { visibility: Object.freeze([...visible]) }),
  });
}

/** Whether a model may call the tool. */
export const isForModel = ({ ui }: { readonly ui?: ToolUi | undefined }): boolean =>
  ui?.visibility?.includes("model") ?? true;

/** Whether a listed resource or template is a user interface. */
export const isUiResource = (item: { readonly uri?: unknown; readonly uriTemplate?: unknown }): boolean =>
  String(item.uri ?? item.uriTemplate ?? "").startsWith(SCHEME);

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

/** The tool that reads the rest of a text that was cut. */
export const READ_ARTIFACT_NAME = "read_artifact";

/** The definition as compact JSON: name, description and input schema. */
export const definitionText = (tool: ToolInfo): string => JSON.stringify(definitionOf(tool));

const definitionOf = ({ name, description, inputSchema }: ToolInfo) => ({ name, description, inputSchema });

/** The size of {@link definitionText} in UTF-8. Listed tools never change, and users share them. */
export const definitionBytes = oncePerObject((tool: ToolInfo) => jsonBytes(definitionOf(tool)));
