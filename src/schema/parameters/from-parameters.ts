/** Converts a list of parameters to JSON Schema. */

import type { JsonSchema } from "../json-schema.js";
import { setKey } from "../json-value.js";
import type { Parameter } from "./parameter.js";

/**
 * Returns the schema of an object with the parameters as its properties.
 *
 * @example
 * ```ts
 * fromParameters([{ name: "city", type: "string", required: true }]);
 * // { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
 * ```
 */
export function fromParameters(parameters: readonly Parameter[]): JsonSchema {
  return { type: "object", ...propertiesOf(parameters) };
}

function propertiesOf(parameters: readonly Parameter[]): JsonSchema {
  const properties: Record<string, unknown> = {};
  for (const parameter of parameters) setKey(properties, parameter.name, schemaOf(parameter));
  const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name);
  return { properties, ...(required.length > 0 && { required }) };
}

function schemaOf(parameter: Omit<Parameter, "name" | "required">): JsonSchema {
  const { type, description, enum: values, items, properties, additionalProperties: others } = parameter;
  return {
    type,
    ...(description !== undefined && { description }),
    ...(values !== undefined && { enum: values }),
    ...("default" in parameter && { default: parameter.default }),
    ...(items !== undefined && { items: schemaOf(items) }),
    ...(properties !== undefined && propertiesOf(properties)),
    ...(others !== undefined && {
      additionalProperties: typeof others === "boolean" ? others : schemaOf(others),
    }),
  };
}
