/** The tools that a port itself offers: which of them models see, and how they are called. */

import {
  ConfigError,
  compileNames,
  isForModel,
  isSafeName,
  READ_ARTIFACT_NAME,
  type ToolInfo,
  ToolportError,
} from "@toolport/base";
import { RESERVED_NAMES } from "../../catalog/names/assign-names.js";
import {
  CALL_TOOL_NAME,
  chooseDeferred,
  type DeferralRules,
  deferredTools,
  readCallArguments,
  readSearchArguments,
  SEARCH_TOOLS_NAME,
} from "../../catalog/search/deferred-tools.js";
import { resultSizeStep } from "../../execution/result-size.js";
import type { CallToolOptions, ToolCall } from "../../execution/tool-call.js";
import type { ToolResult } from "../../execution/tool-result.js";
import type { DeferToolsOptions } from "../options.js";
import type { PortCore } from "../port-core.js";
import type { PortSettings } from "../read-options.js";
import { createArtifactTool, readArtifactInfo } from "./artifact-tool.js";
import { createPromptTools, createResourceTools } from "./item-tools.js";
import {
  type ItemRules,
  type OwnTool,
  type OwnToolFamily,
  type ServedTool,
  textResult,
  toOwnInfo,
} from "./own-tools.js";

/** The selection that `tools()` asks for. */
export interface ShownSelection {
  readonly servers: readonly string[] | undefined;
  /** Every tool, not only those that models see. */
  readonly all: boolean;
  readonly isWanted: (tool: ToolInfo) => boolean;
}

/** Results of a search that are filtered afterwards: more are searched than are shown. */
const MAX_FOUND = 10_000;
const KINDS: Readonly<Record<string, "search" | "call" | "artifact">> = {
  [SEARCH_TOOLS_NAME]: "search",
  [CALL_TOOL_NAME]: "call",
  [READ_ARTIFACT_NAME]: "artifact",
};

export class OwnToolSet {
  readonly #rules: DeferralRules;
  /** Of the latest catalog. */
  #deferred: { tools: readonly ToolInfo[]; deferred: ReadonlySet<ToolInfo> } | undefined;
  readonly #families: readonly { family: OwnToolFamily; infos: readonly ToolInfo[] }[];
  readonly #byName = new Map<string, ServedTool>();

  constructor(private readonly port: PortCore) {
    const { resourcesAsTools, promptsAsTools, deferTools } = port.parts.settings;
    const { mode = "always", above = DEFAULT_ABOVE, alwaysVisible } = readMode(deferTools);
    const isNamed = compileNames(alwaysVisible ?? []);
    this.#rules = {
      mode,
      above,
      isAlwaysVisible: ({ name, sourceName }) => isNamed(name) || isNamed(sourceName),
      serverOf: (name) => port.pool.configOf(name),
    };
    const families = [
      ...(resourcesAsTools ? [createResourceTools(port, resourcesAsTools)] : []),
      ...(promptsAsTools ? [createPromptTools(port, promptsAsTools)] : []),
    ];
    // The same objects every time, because schemas derived from them are cached by object.
    this.#families = families.map((family) => ({ family, infos: family.tools.map(toOwnInfo) }));
    const artifactTool = createArtifactTool(() => port.artifacts);
    for (const tool of [...this.#searchAndCall(), artifactTool]) this.#byName.set(tool.name, tool);
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
    const deferred = all ? [] : this.#shownSearchAndCall(servers).map(toOwnInfo);
    // Not if the selection leaves out a server whose data they show.
    const others = this.#families.filter(
      ({ family }) => servers === undefined || family.servers().every((name) => servers.includes(name)),
    );
    const { maxResultBytes } = this.port.parts.settings;
    const reader = typeof maxResultBytes === "object" && maxResultBytes.read ? [readArtifactInfo] : [];
    return [...deferred, ...[...others.flatMap(({ infos }) => infos), ...reader].filter(isWanted)];
  }

  /** The tools of servers that models do not see until they search for them. */
  deferred(): ReadonlySet<ToolInfo> {
    if (!this.#defers) return NO_TOOLS;
    const tools = this.port.catalog.tools();
    if (this.#deferred?.tools !== tools)
      this.#deferred = { tools, deferred: chooseDeferred(tools, this.#rules) };
    return this.#deferred.deferred;
  }

  /** The tool of a server that a call refers to; undefined for an own tool, which never waits for a person. */
  targetOf(
    name: string,
    args: Readonly<Record<string, unknown>>,
  ): { name: string; args: Readonly<Record<string, unknown>> } | undefined {
    if (this.#find(name) === undefined) return { name, args };
    const call = name === CALL_TOOL_NAME ? readCallArguments(args) : undefined;
    if (call === undefined || "problem" in call) return undefined;
    const found = this.port.catalog.entry(call.name)?.info;
    return found === undefined || isForModel(found) ? call : undefined;
  }

  /** Undefined if the name is not one of the port's own tools. */
  call(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: CallToolOptions,
  ): Promise<ToolResult> | undefined {
    const tool = this.#find(name);
    return tool && callOwnTool(this.port, tool, args, options);
  }

  /** What a caller with rules needs to know of a tool: `ruled` ones obey them in {@link callUnder}. Undefined for any other. */
  kindOf(name: string): "search" | "call" | "artifact" | "ruled" | undefined {
    const tool = this.#find(name);
    if (tool === undefined) return undefined;
    if (Object.hasOwn(KINDS, name)) return KINDS[name];
    return tool.isRuled ? "ruled" : undefined;
  }

  /** `search_tools` over known lists, with only the tools for which `areShown` is true. */
  async search(
    args: Readonly<Record<string, unknown>>,
    areShown: (tools: readonly ToolInfo[]) => Promise<readonly boolean[]>,
  ): Promise<ToolResult> {
    const { firstMatches, searchAnswer } = await import("../../catalog/search/search-index.js");
    const { query, limit } = readSearchArguments(args);
    const matches = await this.port.catalog.search(query, MAX_FOUND);
    const isShown = await areShown(matches.map(({ tool }) => tool));
    return textResult(
      searchAnswer(
        firstMatches(
          matches.filter((_, index) => isShown[index]),
          limit,
        ),
      ),
    );
  }

  /** Calls an own tool that shows its caller only what the rules allow. Undefined if the name is not that of such a tool. */
  callUnder(
    rules: ItemRules,
    { name, args }: { name: string; args: Readonly<Record<string, unknown>> },
    options: CallToolOptions,
  ): Promise<ToolResult> | undefined {
    const tool = this.#find(name);
    return tool?.isRuled && callOwnTool(this.port, tool, args, options, rules);
  }

  #find(name: string): ServedTool | undefined {
    const tool = this.#byName.get(name);
    const isHidden = (name === SEARCH_TOOLS_NAME || name === CALL_TOOL_NAME) && !this.#defers;
    return isHidden ? undefined : tool;
  }

  /** False if no option defers tools, now or later. */
  get #defers(): boolean {
    return this.#rules.mode !== "never" || this.port.pool.configs().some(({ defer }) => defer === true);
  }

  /** The two tools, if this selection of servers needs them. */
  #shownSearchAndCall(servers: readonly string[] | undefined): OwnTool[] {
    if (!this.#defers) return [];
    if (this.#rules.mode === "always") return this.#searchAndCall(servers);
    const hidden = new Set([...this.deferred()].map(({ server }) => server));
    const named = this.port.pool.names.filter(
      (name) => hidden.has(name) && (servers?.includes(name) ?? true),
    );
    return named.length === 0 ? [] : this.#searchAndCall(named);
  }

  /** @param servers that the description names */
  #searchAndCall(servers: readonly string[] = this.port.pool.names): OwnTool[] {
    const calls: Record<string, OwnTool["call"]> = {
      [SEARCH_TOOLS_NAME]: (args, options) => this.#search(args, options),
      [CALL_TOOL_NAME]: (args, options) => this.#callFound(args, options),
    };
    return deferredTools(servers).map((tool) => ({ ...tool, call: calls[tool.name]! }));
  }

  async #search(args: Readonly<Record<string, unknown>>, options: CallToolOptions): Promise<string> {
    const { port } = this;
    await port.ensureLists(port.pool.all(), options);
    const { query, limit } = readSearchArguments(args);
    const { searchAnswer } = await import("../../catalog/search/search-index.js");
    return searchAnswer(await port.catalog.search(query, limit));
  }

  async #callFound(args: Readonly<Record<string, unknown>>, options: CallToolOptions): Promise<ToolResult> {
    const call = readCallArguments(args);
    if ("problem" in call) return textResult(call.problem, true);
    const found = this.port.catalog.entry(call.name)?.info;
    if (found !== undefined && !isForModel(found))
      return textResult(`There is no tool named ${JSON.stringify(call.name)}`, true);
    return this.port.callTool(call.name, call.args, options);
  }
}

/** Errors that a model can correct: returned as a result with `isError` instead of thrown. */
const SLIPS: readonly string[] = [
  "TOOL_NOT_FOUND",
  "TOOL_WITHHELD",
  "TOOL_CHANGED",
  "INVALID_ARGUMENTS",
  "RESOURCE_NOT_FOUND",
  "PROMPT_NOT_FOUND",
  "UNKNOWN_SERVER",
];

/** Calls the tool. An error that the model can correct becomes a result with `isError`. */
async function callOwnTool(
  port: PortCore,
  tool: ServedTool,
  args: Readonly<Record<string, unknown>>,
  options: CallToolOptions,
  rules?: ItemRules,
): Promise<ToolResult> {
  const startedAt = performance.now();
  const { parts, principal } = port;
  const { maxResultBytes } = parts.settings;
  const limit =
    maxResultBytes === undefined
      ? undefined
      : resultSizeStep(maxResultBytes, { report: parts.report, artifacts: () => port.artifacts });
  const answer = async (): Promise<ToolResult> => {
    try {
      const answered = await tool.call(args, options, rules);
      if (typeof answered !== "string") return answered;
      const result = textResult(answered);
      return limit === undefined ? result : (await limit(async () => ({ result }))(call)).result;
    } catch (error) {
      if (!ToolportError.isInstance(error) || !SLIPS.includes(error.code)) throw error;
      return textResult(error.message, true);
    }
  };
  const call: ToolCall = {
    tool: toOwnInfo(tool),
    args,
    options,
    principal: principal?.name,
    attempts: [],
    startedAt,
    deadline: Number.POSITIVE_INFINITY,
    patient: true,
    budget: { leftMs: 0 },
  };
  return { ...(await answer()), durationMs: performance.now() - startedAt };
}

/** The names must be valid for every provider, and unique. */
function assertOwnNames(option: string, names: readonly unknown[]): void {
  const issues = names.flatMap((name, index) => {
    const isGood = typeof name === "string" && isSafeName(name) && names.indexOf(name) === index;
    return isGood
      ? []
      : [{ path: option, message: `${JSON.stringify(name)} is not a name that every provider accepts` }];
  });
  if (issues.length > 0) throw new ConfigError({ code: "INVALID_CONFIG", issues });
}

/** The default of `deferTools.above`. */
const DEFAULT_ABOVE = 10_000;
const NO_TOOLS: ReadonlySet<ToolInfo> = new Set();

const readMode = (option: PortSettings["deferTools"] = false): DeferToolsOptions =>
  typeof option === "boolean" ? { mode: option ? "always" : "never" } : option;
