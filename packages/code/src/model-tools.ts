/** The side of a code mode that models and adapters see: `search` and `execute` as tools that can be listed and called, and the results that a model reads. */

import { CatalogError, estimateTokens, READ_ARTIFACT_NAME, type ToolInfo } from "@toolport/base";
import {
  type CallToolOptions,
  isSuspended,
  type SuspendCallOptions,
  type Suspended,
  type Toolport,
  type ToolResult,
  type ToolsOptions,
} from "@toolport/core";
import { compileFilter, readSearchArguments, toOwnInfo, toToolResult } from "@toolport/core/internal";
import type {
  CodeCall,
  CodeFailure,
  CodeMode,
  CodeModeOptions,
  CodeOutcome,
  CodeValue,
  ExecuteOptions,
} from "./code-mode.js";
import { declareTools, type ProgramApi } from "./program-api.js";
import type { RunLimits } from "./run-program.js";

export const SEARCH_NAME = "search";
export const EXECUTE_NAME = "execute";

/** The limits that a model has to know. */
type ToldLimits = Pick<RunLimits, "calls" | "timeMs" | "cpuMs" | "resultBytes">;

/** How the model learns the tools. */
type Discovery = {
  readonly [Key in "discovery" | "declareTokens"]-?: NonNullable<CodeModeOptions[Key]>;
};

/** Characters of server names in the description of `search`: the two tools take at most 450 tokens, however many servers there are. */
const MAX_SERVERS = 300;
/** Characters of one server's name. Names come from the configuration, but a gateway's users may add servers too. */
const MAX_SERVER = 40;

// One object each, because schemas derived from them are cached by object.
const SEARCH_SCHEMA = Object.freeze({
  type: "object",
  properties: {
    query: { type: "string", description: "What the functions should do, or names" },
    limit: { type: "integer", minimum: 1, maximum: 20, description: "Default 5" },
  },
  required: ["query"],
  additionalProperties: false,
});
const EXECUTE_SCHEMA = Object.freeze({
  type: "object",
  properties: { code: { type: "string", description: "The program" } },
  required: ["code"],
  additionalProperties: false,
});

/** `search` and `execute`; only `execute` if its description declares all tools. */
export function modelTools(
  api: ProgramApi,
  { discovery, declareTokens, limits }: Discovery & { readonly limits: ToldLimits },
): ToolInfo[] {
  const declarations = discovery === "declare" ? declareTools(api) : undefined;
  if (declarations !== undefined && estimateTokens(declarations) <= declareTokens)
    return [executeInfo(limits, `The functions:\n${declarations}`)];
  return [searchInfo(api), executeInfo(limits, `Call \`${SEARCH_NAME}\` first to get the declarations.`)];
}

const searchInfo = (api: ProgramApi): ToolInfo => ({
  ...toOwnInfo({
    name: SEARCH_NAME,
    description:
      `Find the functions that programs of \`${EXECUTE_NAME}\` can call. Returns TypeScript declarations.` +
      `${serversNamed(api)} Search before you say that something cannot be done.`,
    inputSchema: SEARCH_SCHEMA,
  }),
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
});

const executeInfo = (limits: ToldLimits, functions: string): ToolInfo =>
  toOwnInfo({
    name: EXECUTE_NAME,
    description: [
      "Run a program: the body of an async function, in TypeScript. Use it for several calls, loops, and results that need filtering. " +
        "`await tools.<server>.<function>({ … })` returns the result: an object where the declaration says so, else text, which may be JSON to parse. " +
        "Await every call; use Promise.all for independent ones. " +
        "`return` only what you need, as JSON; `console.log` lines come back too. " +
        "A call that fails throws an error with `code` and `message`. " +
        "There are no imports, files, network or timers. " +
        `Limits: ${limits.calls} calls, ${seconds(limits.timeMs)}, ${seconds(limits.cpuMs)} of computing, ${kilobytes(limits.resultBytes)} returned. ` +
        "After an error, calls before it have already run.",
      'Example: const page = await tools.shop.listOrders({ state: "open" });\nreturn page.orders.filter((order) => order.total > 100).map(({ id }) => id);',
      functions,
    ].join("\n"),
    inputSchema: EXECUTE_SCHEMA,
  });

const seconds = (ms: number): string =>
  Number.isFinite(ms) ? `${Math.round(ms / 100) / 10} s` : "no time limit";
const kilobytes = (bytes: number): string => `${Math.round(bytes / 1_000)} kB`;

function serversNamed({ servers }: ProgramApi): string {
  const names: string[] = [];
  let length = 0;
  for (const { member } of servers) {
    const name = member.slice(0, MAX_SERVER);
    length += name.length + 2;
    if (length > MAX_SERVERS)
      return ` They belong to: ${names.join(", ")} and ${servers.length - names.length} more.`;
    names.push(name);
  }
  return names.length === 0 ? "" : ` They belong to: ${names.join(", ")}.`;
}

/** Characters of the overview that answers a search without a match. */
const MAX_OVERVIEW = 2_000;

/** Declarations of the tools that match best. Tools that the query names as programs do come first, and none of them is left out. */
export async function describeTools(
  api: ProgramApi,
  finder: Pick<Toolport, "searchTools">,
  { query, limit, signal }: { query: string; limit: number; signal?: AbortSignal | undefined },
): Promise<string> {
  const offered = new Map(api.servers.flatMap(({ tools }) => tools.map(({ tool }) => [tool.name, tool])));
  const named = [...query.matchAll(/(?:\btools\.)?([A-Za-z]\w*)\.([A-Za-z]\w*)/g)].flatMap(
    ([, server = "", tool = ""]) => api.toolOf(server, tool) ?? [],
  );
  // Filters apply after the search, so a limit would count tools that are left out.
  const ranked = await finder.searchTools(query, { limit: Number.MAX_SAFE_INTEGER, signal });
  const { length } = await finder.searchTools(query, { limit, signal });
  const matches = ranked.flatMap(({ name }) => offered.get(name) ?? []).slice(0, Math.max(limit, length));
  const only = new Set([...named, ...matches]);
  return only.size > 0 ? declareTools(api, { only }) : overview(api);
}

function overview({ servers }: ProgramApi): string {
  const lines = servers.map(
    ({ member, tools }) => `${member}: ${tools.map((tool) => tool.member).join(", ")}`,
  );
  const share = Math.max(60, Math.floor(MAX_OVERVIEW / Math.max(1, lines.length)));
  const cut = lines.map((line) => (line.length > share ? `${line.slice(0, share)}…` : line));
  const listed = cut.slice(0, Math.ceil(MAX_OVERVIEW / 60));
  const more = cut.length > listed.length ? [`and ${cut.length - listed.length} more servers`] : [];
  return ["Nothing found. Search with other words. These functions exist:", ...listed, ...more].join("\n");
}

/** The program of a call. Some models write it as a code block. */
export function readProgram(args: Readonly<Record<string, unknown>>): string | undefined {
  const { code } = args;
  if (typeof code !== "string" || code.trim() === "") return undefined;
  const block = /^\s*```[a-z]*\s*\n([\s\S]*?)\n?```\s*$/i.exec(code);
  return block?.[1] ?? code;
}

const textResult = (text: string, isError = false): ToolResult =>
  toToolResult({ content: [{ type: "text", text }], isError }, "toolport");

/** What the model reads about a program that ended: JSON, which adapters cut and keep like any other result. */
export function toModelResult(outcome: CodeValue | CodeFailure): ToolResult {
  const { logs, calls } = outcome;
  if (outcome.error !== undefined) {
    const { error } = outcome;
    const text = logs.length === 0 ? error.message : `${error.message}\nConsole:\n${logs.join("\n")}`;
    return { ...textResult(text, true), _meta: { "toolport/code": { error, calls } } };
  }
  const failed = calls
    .filter(({ ok }) => !ok)
    .map(({ tool, code, outcome: known }) => ({ tool, code, outcome: known }));
  const structuredContent = {
    // Undefined would vanish from the JSON, and the model would not know why.
    value: outcome.value === undefined ? null : outcome.value,
    ...(logs.length > 0 && { logs }),
    calls: countByTool(calls),
    ...(failed.length > 0 && { failed }),
  };
  return { ...textResult(JSON.stringify(structuredContent)), structuredContent };
}

function countByTool(calls: readonly CodeCall[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { tool } of calls) counts.set(tool, (counts.get(tool) ?? 0) + 1);
  return Object.fromEntries(counts);
}

interface ToolSourceParts extends Pick<CodeMode, "execute" | "resume">, Discovery {
  readonly toolport: Pick<Toolport, "searchTools" | "callTool">;
  readonly limits: ToldLimits;
  /** The tools that programs may call now. */
  openApi(options: Pick<ToolsOptions, "signal" | "timeoutMs">): Promise<ProgramApi>;
}

type Arguments = Readonly<Record<string, unknown>>;

/** Default number of matches of `describe()`. */
const DEFAULT_LIMIT = 5;

export function createToolSource(
  parts: ToolSourceParts,
): Pick<CodeMode, "tools" | "describe" | "callTool" | "resumeTool"> {
  const { toolport, openApi } = parts;

  async function tools(options: ToolsOptions = {}): Promise<ToolInfo[]> {
    const { servers, only, except, filter, deferred, signal, timeoutMs } = options;
    // Nothing is deferred here, and the two tools belong to no server.
    if (deferred === true || servers !== undefined) return [];
    const isWanted = compileFilter({ only, except, filter });
    return modelTools(await openApi({ signal, timeoutMs }), parts).filter(
      (tool) => isWanted({ name: tool.server }, tool) === undefined,
    );
  }

  async function describe(
    query: string,
    { limit = DEFAULT_LIMIT, signal }: { limit?: number | undefined; signal?: AbortSignal | undefined } = {},
  ): Promise<string> {
    return describeTools(await openApi({ signal }), toolport, { query, limit, signal });
  }

  async function callTool(
    name: string,
    args: Arguments = {},
    options: CallToolOptions | SuspendCallOptions = {},
  ): Promise<ToolResult | Suspended> {
    const startedAt = performance.now();
    if (name === READ_ARTIFACT_NAME) return toolport.callTool(name, args, { ...options, suspend: false });
    const timed = (result: ToolResult) => ({ ...result, durationMs: performance.now() - startedAt });
    if (name === SEARCH_NAME) {
      const { query, limit } = readSearchArguments(args);
      return timed(textResult(await describe(query, { limit, signal: options.signal })));
    }
    if (name !== EXECUTE_NAME) throw unknownTool(name);
    const program = readProgram(args);
    if (program === undefined)
      return timed(textResult("code is missing: it must be the text of a program.", true));
    const outcome = await parts.execute(program, executeOptions(options));
    return isSuspended(outcome) ? outcome : timed(toModelResult(outcome));
  }

  return {
    tools,
    describe,
    callTool: callTool as CodeMode["callTool"],
    async resumeTool(...given) {
      const outcome: CodeOutcome = await parts.resume(...given);
      return isSuspended(outcome) ? outcome : toModelResult(outcome);
    },
  };
}

function executeOptions(options: CallToolOptions | SuspendCallOptions): ExecuteOptions {
  const { signal, onProgress, context, headers, timeoutMs, suspend } = options;
  return {
    signal,
    onProgress,
    context,
    headers,
    limits: { timeMs: timeoutMs },
    suspend: suspend || undefined,
  };
}

const unknownTool = (name: string): CatalogError =>
  new CatalogError({
    code: "TOOL_NOT_FOUND",
    tool: name,
    what: `There is no tool named ${JSON.stringify(name)}`,
    next: `Programs of ${EXECUTE_NAME} call tools; ${SEARCH_NAME} finds them`,
  });
