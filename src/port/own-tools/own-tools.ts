/** Tools that the port itself offers in addition to those of the servers. */
import { isSafeName } from "../../catalog/names/safe-name.js";
import type { ServerConnection, WaitOptions } from "../../connection/server-connection.js";
import { ConfigError } from "../../errors/config-error.js";
import { ToolportError } from "../../errors/toolport-error.js";
import type { Artifacts } from "../../execution/artifacts/artifact-store.js";
import { type ResultSizeOption, resultSizeStep } from "../../execution/result-size.js";
import type { CallToolOptions, ToolCall } from "../../execution/tool-call.js";
import { type ToolResult, toToolResult } from "../../execution/tool-result.js";
import type { JsonSchema } from "../../model/listed-tool.js";
import type { ToolInfo } from "../../model/tool-info.js";
import { suggest } from "../../util/suggest.js";
import type { ResourceReader } from "../resources/read-resource.js";

/** The part of a port that its own tools need. */
export interface OwnToolHost extends ResourceReader {
  bringUp(connections: readonly ServerConnection[], wait: WaitOptions): Promise<unknown>;
}

/** Used as the server name of these tools. */
const OWN_SERVER = "toolport";

/** A tool that the port itself answers. */
export interface OwnTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  /** Other names for calls. They are not listed, and no tool of a server may have them. */
  readonly aliases?: readonly string[] | undefined;
  /** Returns text for the model, or a whole result. */
  call(
    args: Readonly<Record<string, unknown>>,
    options: CallToolOptions,
  ): Promise<string | ToolResult> | string | ToolResult;
}

/** A resource, a template or a prompt that an own tool shows or reads, as its server names it. */
export type OwnToolItem = { readonly server: string } & (
  | { readonly prompt: string; readonly args?: Readonly<Record<string, string>> | undefined }
  | { readonly uri: string; readonly isTemplate?: boolean | undefined }
);

/** What the caller of an own tool may see and read. A gateway with a policy sets it for each call. */
export interface ItemRules {
  /** For each item, whether a list may show it. */
  areShown(items: readonly OwnToolItem[]): Promise<readonly boolean[]>;
  /** Rejects if the item may not be read. Resolves with the item as its server gets it. */
  check<Item extends OwnToolItem>(item: Item): Promise<Item>;
}

/** An own tool that obeys rules for its caller. */
export interface RuledTool extends OwnTool {
  /** @param rules undefined: everything is allowed */
  callUnder(rules: ItemRules | undefined, ...given: Parameters<OwnTool["call"]>): ReturnType<OwnTool["call"]>;
}

/** Creates a tool that obeys rules for its caller. */
export const ruledTool = (tool: Omit<RuledTool, "call">): RuledTool => ({
  ...tool,
  call: (args, options) => tool.callUnder(undefined, args, options),
});

/** Those of the entries that the rules show. */
export async function shownOnly<Entry>(
  rules: ItemRules | undefined,
  entries: readonly Entry[],
  itemOf: (entry: Entry) => OwnToolItem,
): Promise<readonly Entry[]> {
  if (rules === undefined || entries.length === 0) return entries;
  const areShown = await rules.areShown(entries.map(itemOf));
  return entries.filter((_, index) => areShown[index]);
}

/** Tools of one option. */
export interface OwnToolFamily {
  /** The option of the port that creates them. */
  readonly option: string;
  readonly tools: readonly OwnTool[];
  /** False if the selection leaves out a server whose data these tools show. */
  isCoveredBy(servers: readonly string[]): boolean;
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

export const textResult = (text: string, isError = false): ToolResult =>
  toToolResult({ content: [{ type: "text", text }], isError }, OWN_SERVER);

/** The tool as it is listed. */
export const toOwnInfo = ({ name, title, description, inputSchema }: Omit<OwnTool, "call">): ToolInfo =>
  Object.freeze({ name, title, description, inputSchema, server: OWN_SERVER, sourceName: name });

interface OwnToolCaller {
  readonly principal: { readonly name: string } | undefined;
  readonly artifacts: Artifacts;
  readonly parts: {
    readonly settings: { readonly maxResultBytes?: ResultSizeOption | undefined };
    report(error: unknown): void;
  };
}

/** Calls the tool. An error that the model can correct becomes a result with `isError`. */
export async function callOwnTool(
  port: OwnToolCaller,
  tool: OwnTool,
  { args, options }: { args: Readonly<Record<string, unknown>>; options: CallToolOptions },
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
      const answered = await tool.call(args, options);
      if (typeof answered !== "string") return answered;
      const result = textResult(answered);
      return limit === undefined ? result : await limit(async () => result)(call);
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
export function assertOwnNames(option: string, names: readonly unknown[]): void {
  const issues = names.flatMap((name, index) => {
    const isGood = typeof name === "string" && isSafeName(name) && names.indexOf(name) === index;
    return isGood
      ? []
      : [{ path: option, message: `${JSON.stringify(name)} is not a name that every provider accepts` }];
  });
  if (issues.length > 0) throw new ConfigError({ code: "INVALID_CONFIG", issues });
}

export class ExposedServers {
  readonly #pool: { readonly names: readonly string[] };
  readonly #only: readonly string[] | undefined;

  /** @param only the servers that the option selects; undefined: all */
  constructor(pool: { readonly names: readonly string[] }, only: readonly string[] | undefined) {
    this.#pool = pool;
    this.#only = only;
  }

  names(): string[] {
    return this.#pool.names.filter((name) => this.#only?.includes(name) ?? true);
  }

  has(server: string): boolean {
    return this.names().includes(server);
  }

  /** True if the selection contains all of these servers. */
  isCoveredBy(servers: readonly string[]): boolean {
    return this.names().every((name) => servers.includes(name));
  }

  /**
   * The server that the model names, or a message for the model. If the name is missing and only one server fits, it is that one.
   *
   * @param names for the message. @default all
   */
  choose(
    given: unknown,
    candidates: readonly string[],
    names: readonly string[] = this.names(),
  ): { server: string } | { problem: string } {
    if (typeof given === "string" && this.has(given)) return { server: given };
    const [only, ...others] = new Set(candidates);
    const isMissing = given === undefined || given === null || given === "";
    if (isMissing && only !== undefined && others.length === 0) return { server: only };
    const close = typeof given === "string" ? suggest(given, names) : [];
    const hint =
      close.length > 0 ? `Did you mean ${close.join(" or ")}?` : `Use one of: ${names.join(", ")}.`;
    const what = isMissing ? "mcpServer is missing" : `There is no server named ${JSON.stringify(given)}`;
    return { problem: `${what}. ${hint}` };
  }
}
