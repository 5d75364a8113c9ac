/** One argument of a tool, for code that thinks in lists of parameters and not in JSON Schema. */

export type ParameterType = "string" | "number" | "integer" | "boolean" | "array" | "object";

/** A parameter, or a property of one. */
export interface Parameter {
  readonly name: string;
  readonly type: ParameterType;
  /** What the schema says, and in words what a parameter has no field for: `Must be >= 1 and <= 100 characters.` */
  readonly description?: string;
  /** False also for what the schema requires but lets be null: null is written by leaving it out. */
  readonly required: boolean;
  /** The values that are allowed; null is never among them. */
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  /** What a list holds. */
  readonly items?: Omit<Parameter, "name" | "required">;
  /** What an object holds. */
  readonly properties?: readonly Parameter[];
  /** Which properties an object may have besides: none (`false`), any (`true`), or those of one kind. A hint for checks. */
  readonly additionalProperties?: boolean | Omit<Parameter, "name" | "required">;
}
