/** Decides which tools are deferred: models do not see them until they search for them. */
import type { ToolInfo } from "../../model/tool-info.js";
import { isForModel } from "../../model/tool-ui.js";
import { tokensOfBytes } from "../../util/estimate-tokens.js";
import { definitionBytes } from "./definition-size.js";

/** When tools are deferred. */
export type DeferMode = "auto" | "always" | "never";

/** The settings of one server that matter here. */
export interface DeferringServer {
  readonly defer?: boolean | undefined;
  readonly trustAnnotations?: boolean | undefined;
}

export interface DeferralRules {
  readonly mode: DeferMode;
  /** `"auto"` defers tools that take more tokens than this. */
  readonly above: number;
  isAlwaysVisible(tool: ToolInfo): boolean;
  serverOf(name: string): DeferringServer | undefined;
}

/** `"auto"` defers no fewer tools: a search costs a turn, and models choose well among a few tools. */
const FEWEST_TOOLS = 10;

/** Servers mark tools with it that a model should always see. */
const ALWAYS_LOAD_KEY = "anthropic/alwaysLoad";

/** The deferred tools of one catalog. */
export function chooseDeferred(tools: readonly ToolInfo[], rules: DeferralRules): ReadonlySet<ToolInfo> {
  const deferred = new Set<ToolInfo>();
  const undecided: ToolInfo[] = [];
  for (const tool of tools) {
    if (!isForModel(tool)) continue;
    const choice = choiceFor(tool, rules);
    if (choice === undefined) undecided.push(tool);
    else if (choice) deferred.add(tool);
  }
  if (isTooMuch(undecided, rules.above)) for (const tool of undecided) deferred.add(tool);
  return deferred;
}

/** Undefined: it depends on the other tools. */
function choiceFor(tool: ToolInfo, { mode, isAlwaysVisible, serverOf }: DeferralRules): boolean | undefined {
  if (isAlwaysVisible(tool)) return false;
  const server = serverOf(tool.server);
  if (server?.defer !== undefined) return server.defer;
  if (mode === "never") return false;
  if (server?.trustAnnotations === true && tool._meta?.[ALWAYS_LOAD_KEY] === true) return false;
  return mode === "always" ? true : undefined;
}

function isTooMuch(tools: readonly ToolInfo[], above: number): boolean {
  if (tools.length < FEWEST_TOOLS) return false;
  return tokensOfBytes(tools.reduce((sum, tool) => sum + definitionBytes(tool), 0)) > above;
}
