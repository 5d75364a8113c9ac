/**
 * MCP Apps: user interfaces that servers offer for their tools. The console renders them; programs get what the server declares.
 *
 * @see https://github.com/modelcontextprotocol/ext-apps
 */
import { isRecord } from "../util/json.js";

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
