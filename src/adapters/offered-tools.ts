/** The tools that are offered to a model, each with a schema that the provider of the model accepts. */
import type { ToolFilters } from "../catalog/filters/filters.js";
import type { JsonSchema } from "../model/listed-tool.js";
import type { ToolInfo } from "../model/tool-info.js";
import {
  type CompactOption,
  type CompactOptions,
  compactDerived,
  compactDescription,
  descriptionChange,
  readCompact,
} from "../schema/derive/compact-derived.js";
import { checkTarget, deriveSchema } from "../schema/derive/derive-schema.js";
import type { DerivedSchema, SchemaChange, SchemaTarget } from "../schema/derive/derived-schema.js";
import { type WithForModel, withReader } from "./for-model.js";
import type { ToolSource } from "./tool-source.js";

/** Which tools a model sees and may call. */
export interface ToolSelection extends ToolFilters {
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
const known = new WeakMap<JsonSchema, Map<SchemaTarget, DerivedSchema>>();

export function derivedSchemaOf({ inputSchema }: ToolInfo, target: SchemaTarget): DerivedSchema {
  if (target === "plain") return deriveSchema(inputSchema, target);
  const targets = known.get(inputSchema) ?? new Map<SchemaTarget, DerivedSchema>();
  known.set(inputSchema, targets);
  const derived = targets.get(target) ?? deriveSchema(inputSchema, target);
  targets.set(target, derived);
  return derived;
}

export interface OfferOptions extends WithForModel {
  readonly target: SchemaTarget;
  readonly onChange?: OnSchemaChange | undefined;
  readonly compact?: CompactOption | undefined;
}

/**
 * Lists the tools, or those that `deferTools` hides. Their schemas are derived when they are used, or at once if there is an
 * `onChange` to call.
 */
export async function offeredTools(
  toolport: ToolSource,
  { servers, only, except, filter }: ToolSelection,
  { target, onChange, compact, forModel, deferred = false }: OfferOptions & { readonly deferred?: boolean },
): Promise<OfferedTool[]> {
  const steps = readCompact(compact);
  const listed = await toolport.tools({ ...(servers && { servers }), only, except, filter, deferred });
  // The list of hidden tools is never shown alone.
  const tools = deferred ? listed : withReader(toolport, listed, { forModel, except });
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
