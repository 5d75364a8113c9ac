/** The tools that are offered to a model, each with a schema that the provider of the model accepts. */
import { CALL_TOOL_NAME, deferredTools, SEARCH_TOOLS_NAME } from "../catalog/search/deferred-tools.js";
import { ConfigError, type ConfigIssue } from "../errors/toolport-error.js";
import type { JsonSchema, ToolInfo } from "../model/tool-info.js";
import {
  type CompactOptions,
  compactDerived,
  compactDescription,
  descriptionChange,
  readCompact,
  type WithCompact,
} from "../schema/derive/compact-schema.js";
import { checkTarget, deriveSchema } from "../schema/derive/derive-schema.js";
import type { DerivedSchema, SchemaChange, SchemaTarget } from "../schema/derive/derived-schema.js";
import type { ToolsOptions } from "../toolport.js";
import { oncePerObject } from "../util/concurrency.js";
import { type WithForModel, withReader } from "./for-model.js";
import type { ToolSource } from "./tool-source.js";

/** Which tools a model sees and may call. */
export interface ToolSelection extends Pick<ToolsOptions, "only" | "except" | "filter"> {
  /** Only the tools of these servers. @default all */
  readonly servers?: readonly string[] | undefined;
}

/**
 * The form of the schemas of a framework's tools: `"portable"`, which OpenAI, Anthropic and Gemini all accept;
 * `"source"`, as the server published it; or the form of one provider.
 */
export type SchemaForm = SchemaTarget | "source";

export interface SchemaFormOptions {
  /**
   * The form of the schemas that models see. With every form, arguments are converted back and checked against the original
   * schema of the server.
   * @default "portable"
   * @example
   * ```ts
   * { schema: "source" } // exactly what the server published; some providers reject parts of it
   * ```
   */
  readonly schema?: SchemaForm | undefined;
}

/** @throws ConfigError for an unknown form; the message lists the names */
export function targetOf(form: SchemaForm = "portable"): SchemaTarget {
  if (form === "source") return "plain";
  checkTarget(form, ["source"]);
  return form;
}

/** How the schema of one tool was changed for a provider. */
export interface SchemaReport {
  /** The tool's public name. */
  readonly tool: string;
  readonly server: string;
  readonly target: SchemaTarget;
  readonly changes: readonly SchemaChange[];
  /** False if strict mode was requested but cannot express the schema. */
  readonly strict: boolean;
}

/** Called for every tool whose schema had to be changed, or could not be made strict. */
export type OnSchemaChange = (report: SchemaReport) => void;

/** A tool for a model. A class with lazy fields: there may be thousands of tools, and few of them are used. */
export class OfferedTool {
  #derived: DerivedSchema | undefined;

  constructor(
    readonly tool: ToolInfo,
    readonly target: SchemaTarget,
    /** How schema and description are shortened; undefined: not at all. Nothing is for `plain`. */
    readonly compact?: CompactOptions | undefined,
  ) {}

  /** Derived on first use. */
  get derived(): DerivedSchema {
    this.#derived ??= this.#derive();
    return this.#derived;
  }

  /** The description of the tool for models. */
  get description(): string | undefined {
    const { description } = this.tool;
    return this.compact === undefined || this.target === "plain"
      ? description
      : compactDescription(description, this.compact);
  }

  #derive(): DerivedSchema {
    const derived = derivedSchemaOf(this.tool, this.target);
    return this.compact === undefined ? derived : compactDerived(derived, this.target, this.compact);
  }
}

/** Adds the schema that the server published. Not enumerable: copies and serialised forms of the metadata leave it out. */
export function withSourceSchema<Metadata extends object>(
  metadata: Metadata,
  { inputSchema }: ToolInfo,
): Metadata {
  return Object.defineProperty(metadata, "inputSchema", { value: inputSchema });
}

/** Cache of derived schemas by original, which never changes once listed. `plain` schemas are not derived and not stored. */
const derivedSchemas = oncePerObject((_original: JsonSchema) => new Map<SchemaTarget, DerivedSchema>());

export function derivedSchemaOf({ inputSchema }: ToolInfo, target: SchemaTarget): DerivedSchema {
  if (target === "plain") return deriveSchema(inputSchema, target);
  const byTarget = derivedSchemas(inputSchema);
  const derived = byTarget.get(target) ?? deriveSchema(inputSchema, target);
  byTarget.set(target, derived);
  return derived;
}

/** The options of all functions that return tools for a request: which tools, and how their schemas are changed. */
export interface OfferOptions extends ToolSelection, WithCompact, WithForModel {
  /** Called for every schema that had to be changed. */
  readonly onChange?: OnSchemaChange | undefined;
}

/** The tools that a model may call, or those that `deferTools` hides and a search finds. */
export const selectedTools = (
  toolport: ToolSource,
  { servers, only, except, filter, signal }: ToolSelection & { readonly signal?: AbortSignal | undefined },
  deferred = false,
): Promise<ToolInfo[]> =>
  toolport.tools({
    ...(servers && { servers }),
    ...(signal && { signal }),
    only,
    except,
    filter,
    deferred,
  });

/**
 * Lists the tools, or those that `deferTools` hides. Their schemas are derived when they are used, or at once if there is an
 * `onChange` to call.
 */
export async function offeredTools(
  toolport: ToolSource,
  options: OfferOptions,
  target: SchemaTarget,
  deferred = false,
): Promise<OfferedTool[]> {
  const { onChange } = options;
  const steps = readCompact(options.compact);
  const listed = await selectedTools(toolport, options, deferred);
  // The list of hidden tools is never shown alone.
  const tools = deferred ? listed : withReader(toolport, listed, options);
  const offered = tools.map((tool) => new OfferedTool(tool, target, steps));
  if (onChange === undefined) return offered;
  const isStrict = target.endsWith("-strict");
  for (const { tool, derived, description } of offered) {
    const { strict } = derived;
    const change = descriptionChange(tool.description, description);
    const changes = change === undefined ? derived.changes : [...derived.changes, change];
    if (changes.length > 0 || (isStrict && !strict))
      onChange({ tool: tool.name, server: tool.server, target, changes, strict });
  }
  return offered;
}

/** How a model finds the tools that `deferTools` hides. */
export type DeferredTools = (typeof DEFERRED_TOOLS)[number];

/** The search for deferred tools, which a model then calls by their names. */
export const searchDefinition = (servers: readonly string[]) =>
  deferredTools(servers, "then call what you find by its name")[0];

export type SearchDefinition = ReturnType<typeof searchDefinition>;

const DEFERRED_TOOLS = ["native", "client", "own"] as const;

export interface DeferredOptions {
  /**
   * How a model finds the tools that `deferTools` hides. `"native"`: the provider searches and loads them. `"client"`: the provider asks
   * Toolport to search, and loads what it finds. `"own"`: the tools `search_tools` and `call_tool`, which work with every model.
   * No effect unless `deferTools` or `defer` of a server hides tools. See docs/context.md.
   * @default "own"
   */
  readonly deferred?: DeferredTools | undefined;
}

/** The callers that may use a tool: the same for all tools, or chosen for each; undefined: only the model. */
export type AllowedCallers<Caller extends string> =
  | readonly Caller[]
  | ((tool: ToolInfo) => readonly Caller[] | undefined);

/** The tools of a request, before they get the format of a provider. */
export interface DeferredOffer {
  /** Defined from the start. */
  readonly shown: readonly OfferedTool[];
  /** Loaded by a search. */
  readonly hidden: readonly OfferedTool[];
  /** The search that Toolport answers. */
  readonly search: SearchDefinition | undefined;
}

/** Lists the tools for a request. `search_tools` and `call_tool` are left out if the provider has a search. */
export async function offerTools(
  toolport: ToolSource,
  options: OfferOptions & DeferredOptions,
  target: SchemaTarget,
): Promise<DeferredOffer> {
  const { deferred = "own" } = options;
  checkDeferred(deferred, DEFERRED_TOOLS);
  const all = await offeredTools(toolport, options, target);
  if (deferred === "own") return { shown: all, hidden: [], search: undefined };
  const hidden = await offeredTools(toolport, options, target, true);
  const servers = [...new Set(hidden.map(({ tool }) => tool.server))];
  const isSearched = deferred === "client" && hidden.length > 0;
  return {
    shown: withoutSearch(all, hidden, ({ tool }) => tool.name),
    hidden,
    search: isSearched ? searchDefinition(servers) : undefined,
  };
}

/** The tools that a model sees from the start, without Toolport's own search. */
export function withoutSearch<Tool>(
  all: readonly Tool[],
  hidden: readonly Tool[],
  nameOf: (tool: Tool) => string,
): Tool[] {
  // The two lists are requested one after the other. A tool that was deferred in between must not be offered twice.
  const left = new Set([SEARCH_TOOLS_NAME, CALL_TOOL_NAME, ...hidden.map(nameOf)]);
  return all.filter((tool) => !left.has(nameOf(tool)));
}

/** @throws ConfigError if `deferred` is not one of the values that an adapter knows */
export function checkDeferred(deferred: string, names: readonly string[]): void {
  if (names.includes(deferred)) return;
  throw wrongOptions({ path: "deferred", message: `must be one of ${names.join(", ")}` });
}

/** The callers of one tool; undefined if the option does not say. */
export function callersOf<Caller extends string>(
  tool: ToolInfo,
  allowed: AllowedCallers<Caller> | undefined,
): Caller[] | undefined {
  // A search finds tools for the model, so no program has a use for it.
  if (allowed === undefined || tool.name === SEARCH_TOOLS_NAME) return undefined;
  const callers: unknown = typeof allowed === "function" ? allowed(tool) : allowed;
  if (callers === undefined) return undefined;
  const isName = (name: unknown) => typeof name === "string" && name !== "";
  if (Array.isArray(callers) && callers.length > 0 && callers.every(isName)) return [...callers];
  const message = `must name at least one caller for the tool ${tool.name}, or none`;
  throw wrongOptions({ path: "allowedCallers", message });
}

export const wrongOptions = (...issues: readonly ConfigIssue[]): ConfigError =>
  new ConfigError({ code: "INVALID_CONFIG", issues, next: "Correct the options named above" });
