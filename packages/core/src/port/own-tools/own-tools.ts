/** Tools that the port itself offers in addition to those of the servers. */

import type { JsonSchema, ResourceContents, ToolInfo } from "@toolport/base";
import type { WaitOptions } from "../../connection/server-connection.js";
import type { CallToolOptions } from "../../execution/tool-call.js";
import { type ToolResult, toToolResult } from "../../execution/tool-result.js";
import type { ReadResourceOptions } from "../server-access.js";

/** Used as the server name of these tools. */
const OWN_SERVER = "toolport";

/** A tool that the port itself answers. */
export interface OwnTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  /** Other names for calls. They are not listed, and no tool of a server may have them. */
  readonly aliases?: readonly string[] | undefined;
  /** Returns text for the model, or a whole result. */
  call(
    args: Readonly<Record<string, unknown>>,
    options: CallToolOptions,
  ): Promise<string | ToolResult> | string | ToolResult;
}

/** A resource or a template, as models see it. */
export interface ListedResource {
  readonly mcpServer: string;
  readonly uri: string | null;
  readonly uriTemplate: string | null;
  readonly name: string | null;
  readonly description: string | null;
  readonly mimeType: string | null;
}

/** Names, descriptions and output of the two tools for resources. */
export interface ResourceToolsOptions {
  /** Only the resources of these servers. @default all */
  readonly servers?: readonly string[];
  readonly list?: {
    /** @default "list_resources" */
    readonly name?: string;
    readonly description?: string;
    /** Formats the list for the model. @default JSON of the list */
    readonly present?: (resources: readonly ListedResource[]) => string | Promise<string>;
  };
  readonly read?: {
    /** @default "read_resource"; `get_resource` works as well */
    readonly name?: string;
    readonly description?: string;
    /** Description of the argument `mcpServer`. */
    readonly mcpServer?: string;
    /** Description of the argument `uri`. */
    readonly uri?: string;
    /** Formats the contents for the model. @default JSON of the contents */
    readonly present?: (
      contents: readonly ResourceContents[],
      resource: { readonly server: string; readonly uri: string },
    ) => string | Promise<string>;
  };
}

/** Access to the resources, for tools of your own. */
export interface ResourceAccess {
  /** Lists the resources and templates of all servers. Connects servers that have not been listed yet. */
  list(wait?: WaitOptions): Promise<ListedResource[]>;
  read(server: string, uri: string, options?: ReadResourceOptions): Promise<ResourceContents[]>;
}

/**
 * Creates your own tools for resources, in place of the two.
 *
 * @example
 * ```ts
 * const resourcesAsTools: ResourcesPresenter = (resources) => [
 *   {
 *     name: "manual",
 *     description: "Looks up a page of the manual",
 *     inputSchema: { type: "object", properties: { page: { type: "string" } }, required: ["page"] },
 *     call: async ({ page }) => (await resources.read("docs", `docs://${page}`))[0]?.text ?? "",
 *   },
 * ];
 * ```
 */
export type ResourcesPresenter = (resources: ResourceAccess) => readonly OwnTool[];

/** Whether and how resources are offered as tools. */
export type ResourcesAsToolsOption = boolean | ResourceToolsOptions | ResourcesPresenter;

/** Names and descriptions of the two tools for prompts. */
export interface PromptToolsOptions {
  /** Only the prompts of these servers. @default all */
  readonly servers?: readonly string[];
  readonly list?: {
    /** @default "list_prompts" */
    readonly name?: string;
    readonly description?: string;
  };
  readonly get?: {
    /** @default "get_prompt" */
    readonly name?: string;
    readonly description?: string;
  };
}

/** Whether and how prompts are offered as tools. */
export type PromptsAsToolsOption = boolean | PromptToolsOptions;

/** A resource, a template or a prompt that an own tool shows or reads, as its server names it. */
export type OwnToolItem = { readonly server: string } & (
  | { readonly prompt: string; readonly args?: Readonly<Record<string, string>> | undefined }
  | { readonly uri: string; readonly isTemplate?: boolean | undefined }
);

/** What the caller of an own tool may see and read. A server side with rules sets it for each call. */
export interface ItemRules {
  /** For each item, whether a list may show it. */
  areShown(items: readonly OwnToolItem[]): Promise<readonly boolean[]>;
  /** Rejects if the item may not be read. Resolves with the item as its server gets it. */
  check<Item extends OwnToolItem>(item: Item): Promise<Item>;
}

/** A tool as the port calls it. */
export interface ServedTool extends Omit<OwnTool, "call"> {
  /** The tool obeys rules for its caller; without rules, everything is allowed. */
  readonly isRuled?: true;
  call(
    ...given: [...Parameters<OwnTool["call"]>, rules?: ItemRules | undefined]
  ): ReturnType<OwnTool["call"]>;
}

/** Tools of one option. */
export interface OwnToolFamily {
  /** The option of the port that creates them. */
  readonly option: string;
  readonly tools: readonly ServedTool[];
  /** The names of the servers whose data these tools show. */
  readonly servers: () => readonly string[];
}

export const textResult = (text: string, isError = false): ToolResult =>
  toToolResult({ content: [{ type: "text", text }], isError }, OWN_SERVER);

/** The tool as it is listed. */
export const toOwnInfo = ({ name, title, description, inputSchema }: Omit<OwnTool, "call">): ToolInfo =>
  Object.freeze({ name, title, description, inputSchema, server: OWN_SERVER, sourceName: name });
