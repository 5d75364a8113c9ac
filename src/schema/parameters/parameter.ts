/** One argument of a tool, for code that uses lists of parameters instead of JSON Schema. */

export type ParameterType = "string" | "number" | "integer" | "boolean" | "array" | "object";

/** A parameter, or a property of one. */
export interface Parameter {
  readonly name: string;
  readonly type: ParameterType;
  /** The description of the schema, followed by constraints that have no field here: `Must be >= 1 and <= 100 characters.` */
  readonly description?: string;
  /** Also false for required properties that may be null: leaving them out means null. */
  readonly required: boolean;
  /** The allowed values, without null. */
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  /** The items of a list. */
  readonly items?: Omit<Parameter, "name" | "required">;
  /** The properties of an object. */
  readonly properties?: readonly Parameter[];
  /** Which other properties an object may have: none (`false`), any (`true`), or those of one type. A hint for checks. */
  readonly additionalProperties?: boolean | Omit<Parameter, "name" | "required">;
}
