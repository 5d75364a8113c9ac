/** Tool schemas of either kind: JSON Schema goes out as it is, a library's schema is converted and enforced. */
import type { StandardToolSchema, TestToolSchema } from "./test-server-definition.js";

const ANY_OBJECT = { type: "object" } as const;

/** The JSON Schema to advertise. */
export function toJsonSchema(
  schema: TestToolSchema | undefined,
  side: "input" | "output",
): Record<string, unknown> {
  if (schema === undefined) return ANY_OBJECT;
  if (!isStandard(schema)) return schema;
  const { jsonSchema, vendor } = schema["~standard"];
  if (jsonSchema === undefined) {
    throw new TypeError(
      `This version of ${vendor} cannot convert a schema to JSON Schema; write the JSON Schema`,
    );
  }
  return { ...ANY_OBJECT, ...jsonSchema[side]({ target: "draft-2020-12" }) };
}

/** The arguments as the schema's library returns them, or what it has against them. */
export async function checkArguments(
  schema: TestToolSchema | undefined,
  args: Record<string, unknown>,
): Promise<{ args: Record<string, unknown> } | { problem: string }> {
  if (schema === undefined || !isStandard(schema)) return { args };
  const outcome = (await schema["~standard"].validate(args)) as {
    value?: Record<string, unknown>;
    issues?: readonly { message: string; path?: readonly unknown[] }[];
  };
  if (outcome.issues === undefined) return { args: outcome.value ?? {} };
  const problems = outcome.issues.map(({ message, path }) =>
    path?.length ? `${path.map(keyOf).join(".")}: ${message}` : message,
  );
  return { problem: `Invalid arguments: ${problems.join("; ")}` };
}

function isStandard(schema: TestToolSchema): schema is StandardToolSchema {
  return "~standard" in schema;
}

function keyOf(segment: unknown): string {
  return String(
    typeof segment === "object" && segment !== null ? (segment as { key: unknown }).key : segment,
  );
}
