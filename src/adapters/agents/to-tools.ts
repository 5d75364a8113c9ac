/** The currently known tools as a `ToolSet` of the AI SDK, synchronously. */
import type { ToolSet } from "ai";
import { ConfigError } from "../../errors/config-error.js";
import type { Toolport } from "../../toolport.js";
import { loadAi } from "../ai-sdk/load-ai.js";
import { buildToolSet } from "../ai-sdk/to-tools.js";
import { OfferedTool } from "../offered-tools.js";
import { isOffered } from "./servers-state.js";

/** Loads the package `ai` in advance, because `getAITools` is synchronous. */
export class AiTools {
  #loading: Promise<void> | undefined;
  #ai: typeof import("ai") | undefined;
  #error: unknown;

  /** Never rejects: a missing package matters only when tools are requested. */
  load(): Promise<void> {
    this.#loading ??= loadAi().then(
      (ai) => {
        this.#ai = ai;
      },
      (error: unknown) => {
        this.#error = error;
      },
    );
    return this.#loading;
  }

  of(toolport: Toolport): ToolSet {
    const snapshot = toolport.snapshot();
    const tools = snapshot.tools.filter(({ serverId }) => isOffered(snapshot, serverId));
    if (tools.length === 0) return {};
    if (this.#ai === undefined) throw this.#error ?? notLoaded();
    const offered = tools.map((tool) => new OfferedTool(tool, "portable"));
    // As in the original, results are not limited.
    return buildToolSet(offered, { toolport, ai: this.#ai, options: { forModel: false } });
  }
}

const notLoaded = (): ConfigError =>
  new ConfigError({
    code: "INVALID_CONFIG",
    what: "The package `ai`, which the tools require, is not loaded yet",
    next: "Connect servers with addMcpServer() or connectToServer() before getAITools()",
  });
