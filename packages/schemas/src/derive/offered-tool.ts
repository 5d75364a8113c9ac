/** A tool with the schema and the description that a model sees. */
import { type JsonSchema, oncePerObject, type ToolInfo } from "@toolport/base";
import { type CompactOptions, compactDerived, compactDescription } from "./compact-schema.js";
import { checkTarget, deriveSchema } from "./derive-schema.js";
import type { DerivedSchema, SchemaTarget } from "./derived-schema.js";

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
