/**
 * What each provider publishes about the schemas it takes, written down without a look at how Toolport derives them.
 *
 * - OpenAI strict: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
 * - OpenAI: https://platform.openai.com/docs/guides/function-calling, and the API's own refusals: "schema must have type
 *   'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level", "object schema missing properties", "array
 *   schema missing items".
 * - Anthropic: https://docs.claude.com/en/docs/agents-and-tools/tool-use/overview, and its refusals: "input_schema does not
 *   support oneOf, allOf, or anyOf at the top level", "must match JSON Schema draft 2020-12", "Property keys should match
 *   pattern '^[a-zA-Z0-9_.-]{1,64}$'".
 * - Gemini: https://ai.google.dev/api/generate-content (`responseJsonSchema` lists the keywords) and
 *   https://ai.google.dev/api/caching#Schema; parameter names as Vertex AI has them.
 */
import { Ajv2020 } from "ajv/dist/2020.js";

export type RuleTarget = "openai" | "openai-strict" | "anthropic" | "gemini-json" | "gemini-openapi";

type Node = Record<string, unknown>;
type Report = (path: string, problem: string) => void;

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const words = (text: string): Set<string> => new Set(text.split(" "));
const DIALECT = "https://json-schema.org/draft/2020-12/schema";
const metaSchema = new Ajv2020({ strict: false });

/** What a provider would refuse in a tool's parameters. Empty: it takes them. */
export function refusals(target: RuleTarget, schema: unknown): string[] {
  const found: string[] = [];
  const report: Report = (path, problem) => found.push(`${path}: ${problem}`);
  if (!isNode(schema)) return ["#: is no object"];
  CHECKS[target](schema, report);
  return found;
}

const CHECKS: Record<RuleTarget, (schema: Node, report: Report) => void> = {
  openai(schema, report) {
    checkRoot(schema, words("oneOf anyOf allOf enum not"), report);
    checkMetaSchema(schema, report);
    walk(schema, "#", (node, path) => {
      if ("$ref" in node) report(path, "a reference");
      if (node["type"] === "array" && !("items" in node) && !("prefixItems" in node))
        report(path, "array without items");
    });
  },
  "openai-strict": checkStrict,
  anthropic(schema, report) {
    checkRoot(schema, words("oneOf anyOf allOf"), report);
    checkMetaSchema(schema, report);
    walk(schema, "#", (node, path) => {
      if ("$ref" in node) report(path, "a reference");
      for (const name of names(node)) if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(name)) report(path, `name ${name}`);
    });
  },
  "gemini-json"(schema, report) {
    if (schema["type"] !== "object") report("#", "the root is no object");
    checkMetaSchema(schema, report);
    const allowed = words(
      "type format title description enum items prefixItems minItems maxItems minimum maximum anyOf oneOf properties " +
        "additionalProperties required propertyOrdering",
    );
    walk(schema, "#", (node, path) => {
      for (const keyword of Object.keys(node)) if (!allowed.has(keyword)) report(path, `keyword ${keyword}`);
      for (const value of list(node["enum"]))
        if (!["string", "number"].includes(typeof value) || value === "") report(path, `enum value ${value}`);
    });
  },
  "gemini-openapi"(schema, report) {
    if (schema["type"] !== "OBJECT") report("#", "the root is no OBJECT");
    const allowed = words(
      "type format title description nullable enum maxItems minItems properties required minProperties maxProperties " +
        "minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum",
    );
    const types = words("STRING NUMBER INTEGER BOOLEAN ARRAY OBJECT NULL");
    walk(schema, "#", (node, path) => {
      for (const keyword of Object.keys(node)) if (!allowed.has(keyword)) report(path, `keyword ${keyword}`);
      if ("type" in node && !types.has(node["type"] as string))
        report(path, `type ${JSON.stringify(node["type"])}`);
      if ("format" in node && !["enum", "date-time"].includes(node["format"] as string))
        report(path, "format");
      if ("enum" in node && node["type"] !== "STRING") report(path, "enum of another type than STRING");
      for (const value of list(node["enum"]))
        if (typeof value !== "string" || value === "") report(path, "enum value");
      if (node["type"] === "ARRAY" && !isNode(node["items"])) report(path, "ARRAY without items");
      if ("properties" in node && names(node).length === 0) report(path, "properties should be non-empty");
      for (const name of list(node["required"]))
        if (!names(node).includes(name as string)) report(path, "required");
      for (const name of names(node))
        if (!/^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/.test(name)) report(path, `name ${name}`);
      if ("anyOf" in node && Object.keys(node).length > 1) report(path, "any_of must be the only field set");
    });
  },
};

function checkStrict(schema: Node, report: Report): void {
  checkRoot(schema, words("anyOf"), report);
  checkMetaSchema(schema, report);
  const allowed = words(
    "type title description properties required additionalProperties items enum const anyOf $ref $defs pattern format " +
      "multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems",
  );
  const formats = words("date-time time date duration email hostname ipv4 ipv6 uuid");
  let [properties, values, text] = [0, 0, 0];
  walk(schema, "#", (node, path) => {
    for (const keyword of Object.keys(node)) if (!allowed.has(keyword)) report(path, `keyword ${keyword}`);
    if (!("type" in node) && !("anyOf" in node) && !("enum" in node)) report(path, "no type");
    if ("format" in node && !formats.has(node["format"] as string)) report(path, `format ${node["format"]}`);
    if ([node["type"]].flat().includes("object")) {
      if (node["additionalProperties"] !== false) report(path, "additionalProperties must be false");
      if (!isNode(node["properties"])) report(path, "no properties");
      const required = list(node["required"]);
      for (const name of names(node)) if (!required.includes(name)) report(path, `${name} must be required`);
      for (const name of required)
        if (!names(node).includes(name as string)) report(path, `${name} is unknown`);
    }
    if ([node["type"]].flat().includes("array") && !isNode(node["items"]))
      report(path, "array without items");
    properties += names(node).length;
    const own = list(node["enum"]).join("").length;
    values += list(node["enum"]).length;
    text += names(node).join("").length + own;
    if (list(node["enum"]).length > 250 && own > 15_000) report(path, "enum too long");
    if (path.split("/properties/").length - 1 > 10) report(path, "nested deeper than 10 levels");
  });
  if (properties > 5_000) report("#", "more than 5000 properties");
  if (values > 1_000) report("#", "more than 1000 enum values");
  if (text > 120_000) report("#", "more than 120000 characters");
}

function checkRoot(schema: Node, refused: Set<string>, report: Report): void {
  if (schema["type"] !== "object") report("#", "the root is no object");
  if (!isNode(schema["properties"])) report("#", "object schema missing properties");
  for (const keyword of refused) if (keyword in schema) report("#", `${keyword} at the top level`);
}

function checkMetaSchema(schema: Node, report: Report): void {
  // Whatever dialect it names, it is read as this one.
  if (metaSchema.validateSchema({ ...schema, $schema: DIALECT }) !== true)
    report("#", metaSchema.errorsText(metaSchema.errors));
}

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const names = (node: Node): string[] => (isNode(node["properties"]) ? Object.keys(node["properties"]) : []);

/** Visits every schema that is an object, and no data. */
function walk(node: unknown, path: string, visit: (node: Node, path: string) => void): void {
  if (!isNode(node)) return;
  visit(node, path);
  for (const keyword of words("properties patternProperties $defs dependentSchemas"))
    if (isNode(node[keyword]))
      for (const [name, item] of Object.entries(node[keyword]))
        walk(item, `${path}/${keyword}/${name}`, visit);
  for (const keyword of words("anyOf oneOf allOf prefixItems"))
    for (const [index, item] of list(node[keyword]).entries())
      walk(item, `${path}/${keyword}/${index}`, visit);
  for (const keyword of words("items additionalProperties not if then else contains propertyNames"))
    walk(node[keyword], `${path}/${keyword}`, visit);
}
