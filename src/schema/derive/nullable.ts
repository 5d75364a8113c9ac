/** Null beside what a written schema accepts. */
import type { Json } from "./derivation.js";

/** Whether a written schema accepts null. */
export function mayBeNull(schema: Json): boolean {
  const { type, anyOf, enum: values } = schema as { type?: unknown; anyOf?: Json[]; enum?: unknown[] };
  if (anyOf !== undefined) return anyOf.some(mayBeNull);
  return [type].flat().includes("null") && (values === undefined || values.includes(null));
}

/** The same schema, and null. */
export function allowNull(schema: Json): Json {
  if (mayBeNull(schema)) return schema;
  const { title, description, ...rest } = schema;
  const said = { ...(title !== undefined && { title }), ...(description !== undefined && { description }) };
  if (Array.isArray(rest["anyOf"])) return { ...said, ...rest, anyOf: [...rest["anyOf"], { type: "null" }] };
  const isPlain = typeof rest["type"] === "string" && !["object", "array"].includes(rest["type"]);
  if (isPlain && rest["enum"] === undefined) return { ...said, ...rest, type: [rest["type"], "null"] };
  return { ...said, anyOf: [rest, { type: "null" }] };
}
