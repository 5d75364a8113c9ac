/** The tools that a port itself offers: which of them models see, and how they are called. */

import { RESERVED_NAMES } from "../../catalog/names/name-owners.js";
import { CALL_TOOL_NAME, readCallArguments } from "../../catalog/search/deferred-tools.js";
import type { Artifacts } from "../../execution/artifacts/artifact-store.js";
import type { CallToolOptions } from "../../execution/tool-call.js";
import type { ToolResult } from "../../execution/tool-result.js";
import type { ToolInfo } from "../../model/tool-info.js";
import { isForModel } from "../../model/tool-ui.js";
import type { SharedParts } from "../shared-parts.js";
import { createArtifactTool, readArtifactInfo } from "./artifact-tool.js";
import { type DeferredHost, DeferredView } from "./deferred-view.js";
import {
  assertOwnNames,
  callOwnTool,
  type ItemRules,
  type OwnTool,
  type OwnToolFamily,
  type RuledTool,
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
  readonly artifacts: Artifacts;
}

export class OwnToolSet {
  readonly #port: OwnToolSetHost;
  readonly #deferred: DeferredView;
  readonly #families: readonly { family: OwnToolFamily; infos: readonly ToolInfo[] }[];
  readonly #byName = new Map<string, OwnTool>();

  constructor(port: OwnToolSetHost) {
    const { resourcesAsTools, promptsAsTools } = port.parts.settings;
    this.#port = port;
    this.#deferred = new DeferredView(port);
    const families = [
      ...(resourcesAsTools ? [createResourceTools(port, resourcesAsTools)] : []),
      ...(promptsAsTools ? [createPromptTools(port, promptsAsTools)] : []),
    ];
    // The same objects every time, because schemas derived from them are cached by object.
    this.#families = families.map((family) => ({ family, infos: family.tools.map(toOwnInfo) }));
    const artifactTool = createArtifactTool(() => port.artifacts);
    for (const tool of [...this.#deferred.tools(), artifactTool]) this.#byName.set(tool.name, tool);
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
    const deferred = all ? [] : this.#deferred.shown(servers).map(toOwnInfo);
    const others = this.#families.filter(
      ({ family }) => servers === undefined || family.isCoveredBy(servers),
    );
    const { maxResultBytes } = this.#port.parts.settings;
    const reader = typeof maxResultBytes === "object" && maxResultBytes.read ? [readArtifactInfo] : [];
    return [...deferred, ...[...others.flatMap(({ infos }) => infos), ...reader].filter(isWanted)];
  }

  /** The tools of servers that models do not see until they search for them. */
  deferred(): ReadonlySet<ToolInfo> {
    return this.#deferred.deferred();
  }

  /** The tool of a server that a call refers to; undefined for an own tool, which never waits for a person. */
  targetOf(
    name: string,
    args: Readonly<Record<string, unknown>>,
  ): { name: string; args: Readonly<Record<string, unknown>> } | undefined {
    if (this.#find(name) === undefined) return { name, args };
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
    const tool = this.#find(name);
    return tool && callOwnTool(this.#port, tool, { args, options });
  }

  /** True for a tool that {@link callUnder} can call. */
  isRuled(name: string): boolean {
    return this.#findRuled(name) !== undefined;
  }

  /** Calls an own tool that shows its caller only what the rules allow. Undefined if the name is not that of such a tool. */
  callUnder(
    rules: ItemRules,
    { name, args }: { name: string; args: Readonly<Record<string, unknown>> },
    options: CallToolOptions,
  ): Promise<ToolResult> | undefined {
    const tool = this.#findRuled(name);
    const call: OwnTool["call"] = (...given) => tool!.callUnder(rules, ...given);
    return tool && callOwnTool(this.#port, { ...tool, call }, { args, options });
  }

  #findRuled(name: string): RuledTool | undefined {
    const tool = this.#find(name);
    return tool !== undefined && "callUnder" in tool ? (tool as RuledTool) : undefined;
  }

  #find(name: string): OwnTool | undefined {
    const tool = this.#byName.get(name);
    return tool !== undefined && this.#deferred.owns(tool) && !this.#deferred.isOn ? undefined : tool;
  }
}
