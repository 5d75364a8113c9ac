/** Tools of the port's own beside those of the servers: what models are shown, and what happens when they are called. */
import { isSafeName } from "../../catalog/names/safe-name.js";
import type { ServerConnection, WaitOptions } from "../../connection/server-connection.js";
import { ConfigError } from "../../errors/config-error.js";
import { ToolportError } from "../../errors/toolport-error.js";
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

/** The name of the port in place of a server's. */
const OWN_SERVER = "toolport";

/** A tool that the port answers itself. */
export interface OwnTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  /** Other names under which it may be called. They are shown to nobody, and no server's tool gets them. */
  readonly aliases?: readonly string[] | undefined;
  /** Answers with text for the model, or with a whole result. */
  call(
    args: Readonly<Record<string, unknown>>,
    options: CallToolOptions,
  ): Promise<string | ToolResult> | string | ToolResult;
}

/** Tools that belong together. */
export interface OwnToolFamily {
  /** The option of the port that asks for them. */
  readonly option: string;
  readonly tools: readonly OwnTool[];
  /** False if a choice of servers leaves out one that these tools would speak for. */
  isCoveredBy(servers: readonly string[]): boolean;
}

/** What a model can mend by itself: told to it, not thrown at the program. */
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

/** A tool of the port's own as it is listed. */
export const toOwnInfo = ({ name, title, description, inputSchema }: OwnTool): ToolInfo =>
  Object.freeze({ name, title, description, inputSchema, server: OWN_SERVER, sourceName: name });

interface OwnToolCaller {
  readonly principal: { readonly name: string } | undefined;
  readonly parts: {
    readonly settings: { readonly maxResultBytes?: ResultSizeOption | undefined };
    report(error: unknown): void;
  };
}

/** Calls it. A slip of the model's becomes an answer with `isError`. */
export async function callOwnTool(
  { parts, principal }: OwnToolCaller,
  tool: OwnTool,
  { args, options }: { args: Readonly<Record<string, unknown>>; options: CallToolOptions },
): Promise<ToolResult> {
  const startedAt = performance.now();
  const { maxResultBytes } = parts.settings;
  const limit = maxResultBytes === undefined ? undefined : resultSizeStep(maxResultBytes, parts);
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

/** Own names must be good for every provider, and unlike each other. */
export function assertOwnNames(option: string, names: readonly unknown[]): void {
  const issues = names.flatMap((name, index) => {
    const isGood = typeof name === "string" && isSafeName(name) && names.indexOf(name) === index;
    return isGood
      ? []
      : [{ path: option, message: `${JSON.stringify(name)} is not a name that every provider takes` }];
  });
  if (issues.length > 0) throw new ConfigError({ code: "INVALID_CONFIG", issues });
}

export class ExposedServers {
  readonly #pool: { readonly names: readonly string[] };
  readonly #only: readonly string[] | undefined;

  /** @param only the servers chosen by the user; undefined: all */
  constructor(pool: { readonly names: readonly string[] }, only: readonly string[] | undefined) {
    this.#pool = pool;
    this.#only = only;
  }

  /** The names of all of them. */
  names(): string[] {
    return this.#pool.names.filter((name) => this.#only?.includes(name) ?? true);
  }

  has(server: string): boolean {
    return this.names().includes(server);
  }

  /** Whether a choice of servers leaves out none of them: the tool would speak for that one all the same. */
  isCoveredBy(servers: readonly string[]): boolean {
    return this.names().every((name) => servers.includes(name));
  }

  /** The server that is meant, or what to tell the model. A model that forgets it may have meant the only one. */
  choose(given: unknown, candidates: readonly string[]): { server: string } | { problem: string } {
    const names = this.names();
    if (typeof given === "string" && names.includes(given)) return { server: given };
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
