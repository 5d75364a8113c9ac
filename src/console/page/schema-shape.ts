/** Derives form fields and initial values from a JSON Schema. */

export type Schema = Readonly<Record<string, unknown>>;
export type FieldKind = "choice" | "text" | "number" | "boolean" | "list" | "group" | "json";

const MAX_DEPTH = 5;

const asSchema = (value: unknown): Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : {};

/** Resolves local references, and unions with null. */
export function resolve(schema: unknown, root: Schema, hops = 0): Schema {
  const found = asSchema(schema);
  if (hops > 8) return {};
  const { $ref, anyOf, oneOf, allOf, ...own } = found;
  if (typeof $ref === "string") return { ...resolve(pointed($ref, root), root, hops + 1), ...own };
  if (Array.isArray(allOf) && allOf.length === 1) return { ...resolve(allOf[0], root, hops + 1), ...own };
  const branches = [anyOf, oneOf]
    .find(Array.isArray)
    ?.filter((branch) => asSchema(branch)["type"] !== "null");
  if (branches?.length === 1) return { ...resolve(branches[0], root, hops + 1), ...own };
  const constants = branches?.map((branch) => asSchema(branch)["const"]);
  if (constants?.length && constants.every((value) => value !== undefined))
    return { ...own, enum: constants };
  return found;
}

function pointed(reference: string, root: Schema): unknown {
  if (!reference.startsWith("#")) return undefined;
  const steps = reference
    .slice(1)
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  return steps.reduce<unknown>(
    (at, step) => (Object.hasOwn(asSchema(at), step) ? asSchema(at)[step] : undefined),
    root,
  );
}

export function kindOf(schema: Schema, depth: number): FieldKind {
  if (Array.isArray(schema["enum"]) || "const" in schema) return "choice";
  const [type, ...others] = [schema["type"]].flat().filter((name) => name !== "null");
  if (others.length > 0) return "json";
  if (type === "string") return "text";
  if (type === "number" || type === "integer") return "number";
  if (type === "boolean") return "boolean";
  if (
    type === "array" &&
    depth < MAX_DEPTH &&
    !Array.isArray(schema["prefixItems"]) &&
    Object.keys(asSchema(schema["items"])).length > 0
  )
    return "list";
  if (
    (type === "object" || (type === undefined && "properties" in schema)) &&
    depth < MAX_DEPTH &&
    propertiesOf(schema).length > 0
  )
    return "group";
  return "json";
}

export const propertiesOf = (schema: Schema): [name: string, schema: unknown][] =>
  Object.entries(asSchema(schema["properties"]));

export const isRequired = (schema: Schema, name: string): boolean =>
  Array.isArray(schema["required"]) && schema["required"].includes(name);

/** The allowed values. */
export const choicesOf = (schema: Schema): readonly unknown[] =>
  Array.isArray(schema["enum"]) ? schema["enum"] : [schema["const"]];

/** The initial value of a field; undefined to leave it out. */
export function initial(raw: unknown, root: Schema, must: boolean, depth = 0): unknown {
  const schema = resolve(raw, root);
  if (schema["default"] !== undefined) return schema["default"];
  const kind = kindOf(schema, depth);
  if (kind === "group") {
    const entries = propertiesOf(schema).map(([name, property]) => [
      name,
      initial(property, root, isRequired(schema, name), depth + 1),
    ]);
    const given = entries.filter(([, value]) => value !== undefined);
    return must || given.length > 0 ? Object.fromEntries(given) : undefined;
  }
  if (!must) return undefined;
  const firsts: Partial<Record<FieldKind, unknown>> = {
    choice: choicesOf(schema)[0],
    text: "",
    boolean: false,
    list: [],
  };
  return firsts[kind];
}
