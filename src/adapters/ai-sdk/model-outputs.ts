/** What a model gets of the outputs of tools, and how a call that waits for a person is found again in the messages. */
import { READ_ARTIFACT_NAME } from "../../execution/artifacts/artifact-store.js";
import { isSuspended, type Suspended } from "../../execution/suspend/suspension.js";
import type { ToolResult } from "../../execution/tool-result.js";
import { sha256 } from "../../util/text.js";
import { calledTool, createFitter } from "../for-model.js";
import { modelOutputOptions, toModelOutput, versionOf } from "./content.js";
import type { ToolSetParts } from "./execute-tool.js";

/** The argument of `toModelOutput` since version 6. */
interface OutputCall {
  readonly input?: unknown;
  readonly output: ToolResult | Suspended;
}

/**
 * Returns the function for each tool. The AI SDK converts every output again in every step, from copies: equal outputs give equal texts
 * and ids, so the conversation stays in the cache of the provider.
 */
export function createModelOutputs(
  { toolport, ai, options }: ToolSetParts,
  canRead: boolean,
): (tool: string) => (given: never) => unknown {
  const version = versionOf(ai);
  const format = modelOutputOptions(options, version);
  const fitter = createFitter(toolport, options.forModel, canRead);
  const create = (tool: string) => (given: never) => {
    // Version 5 passes the output itself, later versions wrap it.
    const { input, output } = (version === 5 ? { output: given } : given) as OutputCall;
    if (isSuspended(output)) return toSuspendedOutput(output);
    const facts = { tool: calledTool(tool, input), server: output.server, result: output };
    return toModelOutput(output, { ...format, fitParts: (parts) => fitter(parts, facts) });
  };
  const shared = create("");
  const hasLimits = options.forModel !== false && options.forModel?.tools !== undefined;
  // Shared by most tools: there may be thousands.
  return (tool) => (hasLimits || tool === READ_ARTIFACT_NAME ? create(tool) : shared);
}

/** No provider reads this name in `providerOptions`, so neither it nor its content reaches a model. */
const OWN_OPTIONS = "toolport";

/** The output that stands in the messages until the call is over. */
export interface AiSdkSuspendedOutput {
  type: "text";
  value: string;
  providerOptions: {
    [OWN_OPTIONS]: {
      /** Identifies the call. Derived from its token, which cannot be computed from it. */
      suspended: string;
    };
  };
}

const WAITS_FOR = {
  input: "the answer of the user to a question of the tool",
  approval: "the approval of the user",
  login: "the user to log in",
} as const satisfies Record<Suspended["reason"], string>;

/** What the model reads. It contains no token and none of the questions. */
export async function toSuspendedOutput({ reason, token }: Suspended): Promise<AiSdkSuspendedOutput> {
  return {
    type: "text",
    value: `The call is not finished: it waits for ${WAITS_FOR[reason]}. The result will follow. Do not call the tool again for this.`,
    providerOptions: { [OWN_OPTIONS]: { suspended: await markOf(token) } },
  };
}

/** Another hash than the one under which the store keeps the call. */
export const markOf = (token: string): Promise<string> => sha256(`toolport message ${token}`);

/** The mark of a waiting call in the output of a model message; undefined for other outputs. */
export function suspendedMark(output: unknown): string | undefined {
  const { providerOptions } = (output ?? {}) as Partial<AiSdkSuspendedOutput>;
  const mark = providerOptions?.[OWN_OPTIONS]?.suspended;
  return typeof mark === "string" ? mark : undefined;
}

/** The steps of a run, as `stopWhen` gets them in every version. */
interface RunSteps {
  readonly steps: readonly { readonly toolResults: readonly { readonly output: unknown }[] }[];
}

/**
 * A condition for `stopWhen`: ends the run after a step in which a call began to wait for a person.
 *
 * @example
 * ```ts
 * const { toolResults, response } = await generateText({
 *   model,
 *   tools: await toAiSdkTools(toolport, { suspend: true }),
 *   stopWhen: [hasSuspended(), stepCountIs(10)],
 *   prompt: "Book a flight to Oslo",
 * });
 * ```
 */
export const hasSuspended =
  () =>
  ({ steps }: RunSteps): boolean =>
    steps.at(-1)?.toolResults.some(({ output }) => isSuspended(output)) ?? false;
