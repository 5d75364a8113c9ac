/**
 * MCP Apps: what servers say about user interfaces. Nothing is rendered or fetched here; a host is shown where they are.
 *
 * @see https://github.com/modelcontextprotocol/ext-apps
 */
import type { ToolInfo } from "./tool-info.js";

/** A tool's user interface, as its server describes it. */
export interface ToolUi {
  /** The `ui://` resource to render; `readResource(tool.server, resourceUri)` reads it. */
  readonly resourceUri?: string | undefined;
  /**
   * Who may call the tool: the model, the interface itself, or both. One that is not for the model is left out of what
   * models are shown.
   * @default both
   */
  readonly visibility?: readonly string[] | undefined;
}

const SCHEME = "ui://";
/** How servers wrote it before it had an object of its own. */
const OLD_KEY = "ui/resourceUri";

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const readUri = (uri: unknown): string | undefined =>
  typeof uri === "string" && uri.startsWith(SCHEME) ? uri : undefined;

/** Undefined for a tool that says nothing of an interface. What makes no sense in it counts as not said. */
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

/** False for tools that only an interface may call. */
export const isForModel = ({ ui }: Pick<ToolInfo, "ui">): boolean =>
  ui?.visibility?.includes("model") ?? true;

/** Whether an entry of a list is an interface. */
export const isUiResource = ({
  uri,
  uriTemplate,
}: {
  readonly uri?: unknown;
  readonly uriTemplate?: unknown;
}): boolean => String(uri ?? uriTemplate ?? "").startsWith(SCHEME);
