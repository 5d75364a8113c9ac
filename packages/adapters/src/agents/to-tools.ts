/** The currently known tools as a `ToolSet` of the AI SDK, synchronously. */

import { ConfigError, isForModel, loadOnce, type ToolInfo } from "@toolport/base";
import type { Toolport, ToolportSnapshot } from "@toolport/core";
import { CALL_TOOL_NAME, deferredTools, portOf, SEARCH_TOOLS_NAME, toOwnInfo } from "@toolport/core/internal";
import { OfferedTool } from "@toolport/schemas/internal";
import type { ToolSet } from "ai";
import { loadAi } from "../ai-sdk/content.js";
import { buildToolSet } from "../ai-sdk/to-tools.js";
import { type ForModelOption, withReader } from "../for-model.js";

/** Loads the package `ai` in advance, because `getAITools` is synchronous. */
export class AiTools {
  #ai: typeof import("ai") | undefined;
  #error: unknown;

  /** Never rejects: a missing package matters only when tools are requested. */
  readonly load = loadOnce(() =>
    loadAi().then(
      (ai) => {
        this.#ai = ai;
      },
      (error: unknown) => {
        this.#error = error;
      },
    ),
  );

  /** @param nameOf the name of a server that a model understands, for its id */
  of(toolport: Toolport, forModel: ForModelOption, nameOf: (id: string) => string): ToolSet {
    const listed = withReader(toolport, shownTools(toolport, nameOf), { forModel });
    if (listed.length === 0) return {};
    if (this.#ai === undefined)
      throw (
        this.#error ??
        new ConfigError({
          code: "INVALID_CONFIG",
          what: "The package `ai`, which the tools require, is not loaded yet",
          next: "Connect servers with addMcpServer() or connectToServer() before getAITools()",
        })
      );
    const offered = listed.map((tool) => new OfferedTool(tool, "portable"));
    return buildToolSet(offered, { toolport, ai: this.#ai, options: { forModel } });
  }
}

/** The tools that a model sees from the start; `search_tools` and `call_tool` stand for the others. */
function shownTools(toolport: Toolport, nameOf: (id: string) => string): ToolInfo[] {
  const snapshot = toolport.snapshot();
  const tools = snapshot.tools.filter((tool) => isOffered(snapshot, tool.serverId) && isForModel(tool));
  const hidden = tools.filter(({ deferred }) => deferred === true);
  // Names the servers as the program did: their ids mean nothing to a model.
  const servers = [...new Set(hidden.map(({ serverId }) => nameOf(serverId)))];
  const search = hidden.length === 0 ? [] : deferredTools(servers).map(toOwnInfo);
  const isSearch = ({ name }: ToolInfo) => name === SEARCH_TOOLS_NAME || name === CALL_TOOL_NAME;
  // Without a server they have nothing to show, and `getAITools` of an agent without servers is empty.
  const isUp = Object.values(snapshot.servers).some(
    ({ state }) => state === "ready" || state === "reconnecting",
  );
  const own = isUp ? (portOf(toolport)?.ownTools ?? []).filter((tool) => !isSearch(tool)) : [];
  return [...search, ...own, ...tools.filter(({ deferred }) => deferred !== true)];
}

/** Calls can be made now, or as soon as the server has reconnected. */
export const isOffered = ({ servers }: ToolportSnapshot, server: string): boolean => {
  const status = servers[server]?.state;
  return status !== undefined && !["authenticating", "failed", "closed"].includes(status);
};
