/** All tools of one port's own: which of them a model is shown, and who answers a call. */
import { RESERVED_NAMES } from "../../catalog/names/name-owners.js";
import type { CallToolOptions } from "../../execution/tool-call.js";
import type { ToolResult } from "../../execution/tool-result.js";
import type { ToolInfo } from "../../model/tool-info.js";
import type { Port } from "../port.js";
import { createDeferredView, type DeferredView } from "./deferred-view.js";
import { assertOwnNames, callOwnTool, type OwnTool, toOwnInfo } from "./own-tools.js";
import { createPromptTools } from "./prompt-tools.js";
import { createResourceTools } from "./resource-tools.js";

/** Tools that belong together. */
export interface OwnToolFamily {
  /** The option of the port that asks for them. */
  readonly option: string;
  readonly tools: readonly OwnTool[];
  /** False if a choice of servers leaves out one that these tools would speak for. */
  isCoveredBy(servers: readonly string[]): boolean;
}

/** What `tools()` was asked for. */
export interface ShownSelection {
  readonly servers: readonly string[] | undefined;
  /** Every tool, not only those a model is shown. */
  readonly all: boolean;
  readonly isWanted: (tool: ToolInfo) => boolean;
}

export class OwnToolSet {
  readonly #port: Port;
  readonly #deferred: DeferredView | undefined;
  readonly #families: readonly { family: OwnToolFamily; infos: readonly ToolInfo[] }[];
  readonly #byName = new Map<string, OwnTool>();

  constructor(port: Port) {
    const { resourcesAsTools, promptsAsTools } = port.parts.settings;
    this.#port = port;
    this.#deferred = createDeferredView(port);
    const families = [
      ...(resourcesAsTools ? [createResourceTools(port, resourcesAsTools)] : []),
      ...(promptsAsTools ? [createPromptTools(port, promptsAsTools)] : []),
    ];
    // The same objects every time: what was derived from a schema is remembered by it.
    this.#families = families.map((family) => ({ family, infos: family.tools.map(toOwnInfo) }));
    for (const tool of this.#deferred?.tools() ?? []) this.#byName.set(tool.name, tool);
    for (const { tools, option } of families) {
      const taken = [...this.#byName.keys()];
      assertOwnNames(option, [...taken, ...tools.map(({ name }) => name)]);
      for (const tool of tools)
        for (const name of [tool.name, ...(tool.aliases ?? [])]) this.#byName.set(name, tool);
    }
  }

  /** Names that no server's tool may have, besides those that are always reserved. */
  get names(): readonly string[] {
    return [...this.#byName.keys()].filter((name) => !RESERVED_NAMES.includes(name));
  }

  /** The port's own among the tools that are shown. */
  shown({ servers, all, isWanted }: ShownSelection): ToolInfo[] {
    const deferred = all ? [] : (this.#deferred?.tools(servers) ?? []).map(toOwnInfo);
    const others = this.#families.filter(
      ({ family }) => servers === undefined || family.isCoveredBy(servers),
    );
    return [...deferred, ...others.flatMap(({ infos }) => infos).filter(isWanted)];
  }

  /** Whether a server's tool is shown as well. */
  isVisible(tool: ToolInfo): boolean {
    return this.#deferred?.isVisible(tool) ?? true;
  }

  /** Answers a call; undefined: it is for a server's tool. */
  call(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: CallToolOptions,
  ): Promise<ToolResult> | undefined {
    const tool = this.#byName.get(name);
    return tool && callOwnTool(this.#port, tool, { args, options });
  }
}
