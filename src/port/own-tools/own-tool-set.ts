/** The tools that a port itself offers: which of them models see, and how they are called. */

import { compileNames } from "../../catalog/filters/glob.js";
import { RESERVED_NAMES } from "../../catalog/names/name-owners.js";
import {
  CALL_TOOL_NAME,
  deferredTools,
  readCallArguments,
  readSearchArguments,
  SEARCH_TOOLS_NAME,
  searchAnswer,
} from "../../catalog/search/deferred-tools.js";
import type { CallToolOptions } from "../../execution/tool-call.js";
import type { ToolResult } from "../../execution/tool-result.js";
import type { ToolInfo } from "../../model/tool-info.js";
import { isForModel } from "../../model/tool-ui.js";
import type { PortSettings } from "../read-options.js";
import type { SharedParts } from "../shared-parts.js";
import {
  assertOwnNames,
  callOwnTool,
  type OwnTool,
  type OwnToolFamily,
  type OwnToolHost,
  textResult,
  toOwnInfo,
} from "./own-tools.js";
import { createPromptTools } from "./prompt-tools.js";
import { createResourceTools } from "./resource-tools.js";

/** The selection that `tools()` asks for. */
export interface ShownSelection {
  readonly servers: readonly string[] | undefined;
  /** Every tool, not only those that models see. */
  readonly all: boolean;
  readonly isWanted: (tool: ToolInfo) => boolean;
}

/** The part of a port that the set of its own tools needs. */
interface OwnToolSetHost extends DeferredHost {
  readonly parts: SharedParts;
}

export class OwnToolSet {
  readonly #port: OwnToolSetHost;
  readonly #deferred: DeferredView | undefined;
  readonly #families: readonly { family: OwnToolFamily; infos: readonly ToolInfo[] }[];
  readonly #byName = new Map<string, OwnTool>();

  constructor(port: OwnToolSetHost) {
    const { resourcesAsTools, promptsAsTools } = port.parts.settings;
    this.#port = port;
    this.#deferred = createDeferredView(port);
    const families = [
      ...(resourcesAsTools ? [createResourceTools(port, resourcesAsTools)] : []),
      ...(promptsAsTools ? [createPromptTools(port, promptsAsTools)] : []),
    ];
    // The same objects every time, because schemas derived from them are cached by object.
    this.#families = families.map((family) => ({ family, infos: family.tools.map(toOwnInfo) }));
    for (const tool of this.#deferred?.tools() ?? []) this.#byName.set(tool.name, tool);
    for (const { tools, option } of families) {
      const taken = [...this.#byName.keys()];
      assertOwnNames(option, [...taken, ...tools.map(({ name }) => name)]);
      for (const tool of tools)
        for (const name of [tool.name, ...(tool.aliases ?? [])]) this.#byName.set(name, tool);
    }
  }

  /** Names that tools of servers must not have, in addition to those that are always reserved. */
  get names(): readonly string[] {
    return [...this.#byName.keys()].filter((name) => !RESERVED_NAMES.includes(name));
  }

  /** The selected tools of the port itself. */
  shown({ servers, all, isWanted }: ShownSelection): ToolInfo[] {
    const deferred = all ? [] : (this.#deferred?.tools(servers) ?? []).map(toOwnInfo);
    const others = this.#families.filter(
      ({ family }) => servers === undefined || family.isCoveredBy(servers),
    );
    return [...deferred, ...others.flatMap(({ infos }) => infos).filter(isWanted)];
  }

  /** True if models see this tool of a server. */
  isVisible(tool: ToolInfo): boolean {
    return this.#deferred?.isVisible(tool) ?? true;
  }

  /** The tool of a server that a call refers to; undefined for an own tool, which never waits for a person. */
  targetOf(
    name: string,
    args: Readonly<Record<string, unknown>>,
  ): { name: string; args: Readonly<Record<string, unknown>> } | undefined {
    if (!this.#byName.has(name)) return { name, args };
    const call = name === CALL_TOOL_NAME ? readCallArguments(args) : undefined;
    if (call === undefined || "problem" in call) return undefined;
    const found = this.#port.catalog.entry(call.name)?.info;
    return found === undefined || isForModel(found) ? call : undefined;
  }

  /** Undefined if the name is not one of the port's own tools. */
  call(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: CallToolOptions,
  ): Promise<ToolResult> | undefined {
    const tool = this.#byName.get(name);
    return tool && callOwnTool(this.#port, tool, { args, options });
  }
}

interface DeferredHost extends OwnToolHost {
  readonly parts: OwnToolHost["parts"] & { readonly settings: Pick<PortSettings, "deferTools"> };
  callTool(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: CallToolOptions,
  ): Promise<ToolResult>;
}

interface DeferredView {
  /** The two tools that replace all others. */
  tools(servers?: readonly string[]): OwnTool[];
  /** True for a tool that models see as well. */
  isVisible(tool: ToolInfo): boolean;
}

/** Undefined unless `deferTools` is set. */
function createDeferredView(port: DeferredHost): DeferredView | undefined {
  const { deferTools } = port.parts.settings;
  if (deferTools === undefined || deferTools === false) return undefined;
  const visible = compileNames(deferTools === true ? [] : (deferTools.alwaysVisible ?? []));
  const calls: Record<string, OwnTool["call"]> = {
    [SEARCH_TOOLS_NAME]: async (args, options) => {
      await port.bringUp(port.pool.all(), options);
      const { query, limit } = readSearchArguments(args);
      return searchAnswer(port.catalog.search(query, limit));
    },
    [CALL_TOOL_NAME]: async (args, options) => {
      const call = readCallArguments(args);
      if ("problem" in call) return textResult(call.problem, true);
      const found = port.catalog.entry(call.name)?.info;
      if (found !== undefined && !isForModel(found))
        return textResult(`There is no tool named ${JSON.stringify(call.name)}`, true);
      return port.callTool(call.name, call.args, options);
    },
  };
  return {
    tools: (servers = port.pool.names) =>
      deferredTools(servers).map((tool) => ({ ...tool, call: calls[tool.name]! })),
    isVisible: (tool) => visible(tool.name) || visible(tool.sourceName),
  };
}
