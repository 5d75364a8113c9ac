/** The view that models have when tools are deferred: a search and a call in place of the tools that are not shown. */
import { compileNames } from "../../catalog/filters/glob.js";
import { chooseDeferred, type DeferralRules } from "../../catalog/search/deferral.js";
import {
  CALL_TOOL_NAME,
  deferredTools,
  readCallArguments,
  readSearchArguments,
  SEARCH_TOOLS_NAME,
} from "../../catalog/search/deferred-tools.js";
import type { ServerConfig } from "../../config/server-config.js";
import type { CallToolOptions } from "../../execution/tool-call.js";
import type { ToolResult } from "../../execution/tool-result.js";
import type { ToolInfo } from "../../model/tool-info.js";
import { isForModel } from "../../model/tool-ui.js";
import type { DeferToolsOptions } from "../options.js";
import type { PortSettings } from "../read-options.js";
import { type OwnTool, type OwnToolHost, textResult } from "./own-tools.js";

/** The part of a port that the view needs. */
export interface DeferredHost extends OwnToolHost {
  readonly parts: OwnToolHost["parts"] & { readonly settings: Pick<PortSettings, "deferTools"> };
  readonly pool: OwnToolHost["pool"] & { configs(): readonly ServerConfig[] };
  callTool(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: CallToolOptions,
  ): Promise<ToolResult>;
}

/** The default of `deferTools.above`. */
const DEFAULT_ABOVE = 10_000;
const NO_TOOLS: ReadonlySet<ToolInfo> = new Set();

export class DeferredView {
  readonly #port: DeferredHost;
  readonly #rules: DeferralRules;
  /** Of the latest catalog. */
  #known: { tools: readonly ToolInfo[]; deferred: ReadonlySet<ToolInfo> } | undefined;

  constructor(port: DeferredHost) {
    const {
      mode = "always",
      above = DEFAULT_ABOVE,
      alwaysVisible,
    } = readMode(port.parts.settings.deferTools);
    const isNamed = compileNames(alwaysVisible ?? []);
    this.#port = port;
    this.#rules = {
      mode,
      above,
      isAlwaysVisible: ({ name, sourceName }) => isNamed(name) || isNamed(sourceName),
      serverOf: (name) => port.pool.configOf(name),
    };
  }

  /** False if no option defers tools, now or later. */
  get isOn(): boolean {
    return this.#rules.mode !== "never" || this.#port.pool.configs().some(({ defer }) => defer === true);
  }

  /** True for search and call. */
  owns({ name }: { readonly name: string }): boolean {
    return name === SEARCH_TOOLS_NAME || name === CALL_TOOL_NAME;
  }

  /** The two tools, if this selection of servers needs them. */
  shown(servers: readonly string[] | undefined): OwnTool[] {
    if (!this.isOn) return [];
    if (this.#rules.mode === "always") return this.tools(servers);
    const hidden = new Set([...this.deferred()].map(({ server }) => server));
    const named = this.#port.pool.names.filter(
      (name) => hidden.has(name) && (servers?.includes(name) ?? true),
    );
    return named.length === 0 ? [] : this.tools(named);
  }

  /** Search and call. @param servers that the description names */
  tools(servers: readonly string[] = this.#port.pool.names): OwnTool[] {
    const calls: Record<string, OwnTool["call"]> = {
      [SEARCH_TOOLS_NAME]: (args, options) => this.#search(args, options),
      [CALL_TOOL_NAME]: (args, options) => this.#call(args, options),
    };
    return deferredTools(servers).map((tool) => ({ ...tool, call: calls[tool.name]! }));
  }

  /** The tools of servers that models do not see until they search for them. */
  deferred(): ReadonlySet<ToolInfo> {
    if (!this.isOn) return NO_TOOLS;
    const tools = this.#port.catalog.tools();
    if (this.#known?.tools !== tools) this.#known = { tools, deferred: chooseDeferred(tools, this.#rules) };
    return this.#known.deferred;
  }

  async #search(args: Readonly<Record<string, unknown>>, options: CallToolOptions): Promise<string> {
    const port = this.#port;
    await port.bringUp(port.pool.all(), options);
    const { query, limit } = readSearchArguments(args);
    const { searchAnswer } = await import("../../catalog/search/search-answer.js");
    return searchAnswer(await port.catalog.search(query, limit));
  }

  async #call(args: Readonly<Record<string, unknown>>, options: CallToolOptions): Promise<ToolResult> {
    const call = readCallArguments(args);
    if ("problem" in call) return textResult(call.problem, true);
    const found = this.#port.catalog.entry(call.name)?.info;
    if (found !== undefined && !isForModel(found))
      return textResult(`There is no tool named ${JSON.stringify(call.name)}`, true);
    return this.#port.callTool(call.name, call.args, options);
  }
}

const readMode = (option: PortSettings["deferTools"] = false): DeferToolsOptions =>
  typeof option === "boolean" ? { mode: option ? "always" : "never" } : option;
