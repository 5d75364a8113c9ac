/** Code mode of a gateway: clients get `search` and `execute`, and their programs call the tools that the policy shows them. */
import { compileFilter } from "../../catalog/filters/filters.js";
import type { CodeExecutor } from "../../code/code-executor.js";
import type { CodeModeOptions } from "../../code/code-mode.js";
import type { ToolInfo } from "../../model/tool-info.js";
import { giveArtifacts } from "../../port/artifact-access.js";
import type { Toolport, ToolsOptions } from "../../toolport.js";
import { offersOwnTool, visibleTools } from "../calls/own-tools.js";
import type { AskClient } from "../calls/relayed.js";
import type { GatewayCode, RequestContext } from "../request-context.js";
import { callInnerTool } from "./call-inner-tool.js";
import { ProgramLimits } from "./program-limits.js";

/** Throws a `ConfigError` if an option is wrong or a package is missing. */
export async function openGatewayCode(options: CodeModeOptions): Promise<GatewayCode> {
  // Loaded only if it is used.
  const { createCodeMode, loadExecutor } = await import("../../code/create-code-mode.js");
  const { EXECUTE_NAME, SEARCH_NAME } = await import("../../code/model-tools.js");
  // Checks the options: nothing is used of the port yet.
  createCodeMode({} as Toolport, options);
  // One executor for all users, so that they share its threads: each runs one program at a time, in a VM of its own.
  const executor = options.executor ?? (await loadExecutor(options));
  const executorFor = (owner: string | undefined): CodeExecutor => ({
    version: executor.version,
    start: (program, host) => executor.start({ ...program, owner }, host),
  });
  return {
    isOffered: (name) => name === EXECUTE_NAME || name === SEARCH_NAME,
    open: (context, answer) =>
      createCodeMode(toolportOf(context, answer), {
        ...options,
        executor: executorFor(context.client.principal),
      }),
    async close() {
      // An executor of the program's own stays open.
      if (options.executor === undefined) await executor.close?.();
    },
  };
}

/** What programs use of a Toolport, as the client may use it. */
function toolportOf(context: RequestContext, answer: AskClient | undefined): Toolport {
  const { port } = context.user;
  const limits = new ProgramLimits(context.parts.users, context.user);
  const toolport: Pick<Toolport, "tools" | "searchTools"> & { callTool: unknown } = {
    tools: (options) => toolsOf(context, options),
    async searchTools(query, { limit = 10, ...wait } = {}) {
      await port.need("tools", wait);
      return (await port.catalog.search(query, limit)).map(({ tool }) => tool);
    },
    callTool: (name: string, args: Readonly<Record<string, unknown>>, { signal }: { signal: AbortSignal }) =>
      callInnerTool(context, { name, args, signal, answer, limits }),
  };
  return giveArtifacts(toolport as unknown as Toolport, () => port.artifacts);
}

/** The tools that a list would show to this client without code mode, and those that it would defer. */
async function toolsOf(
  context: RequestContext,
  { only, except, filter, signal = context.exchange.signal }: ToolsOptions = {},
): Promise<ToolInfo[]> {
  const { port } = context.user;
  await port.need("tools", { signal });
  const isWanted = compileFilter({ only, except, filter });
  const passes = (tool: ToolInfo) => isWanted({ name: tool.server }, tool) === undefined;
  const own = port.own
    .shown({ servers: undefined, all: true, isWanted: passes })
    .filter(({ name }) => offersOwnTool(context, name));
  const listed = port.catalog.snapshot().tools.filter(passes);
  const isVisible = await visibleTools(context, listed);
  return [...own, ...listed.filter((_, index) => isVisible[index])];
}
