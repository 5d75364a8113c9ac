/**
 * What the providers refuse in the tools of a request, as they publish it: in their documentation, or in the error messages of
 * their APIs. Every rule names its source. Written without a look at how Toolport derives schemas, and the only copy of these
 * rules: the contract of the derivation and the HTTP stand-ins of the adapters both use it.
 */
import { Ajv2020 } from "ajv/dist/2020.js";

/** A form that a tool's schema may be sent in. `portable`: refused by none of the others. */
export type RuleTarget =
  | "portable"
  | "openai"
  | "openai-strict"
  | "anthropic"
  | "gemini-json"
  | "gemini-openapi";

type Node = Record<string, unknown>;
type Report = (problem: string) => void;

/** A tool as a request has it. A Gemini declaration may have no schema at all. */
export interface SentTool {
  readonly name: string;
  readonly schema: unknown;
}

export interface Rule {
  readonly id: string;
  /** Where the provider says so. */
  readonly source: string;
  /** Looks at the whole list. */
  readonly tools?: (tools: readonly SentTool[], report: Report) => void;
  /** Looks at one tool's name. */
  readonly name?: (name: string, report: Report) => void;
  /** Looks at the root of a schema. */
  readonly root?: (schema: Node, report: Report) => void;
  /** Looks at every schema inside a schema. */
  readonly node?: (node: Node, report: Report, path: string) => void;
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const words = (text: string): Set<string> => new Set(text.split(" "));
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const names = (node: Node): string[] => (isNode(node["properties"]) ? Object.keys(node["properties"]) : []);
const typesOf = (node: Node): string[] => [node["type"]].flat().map((type) => String(type).toLowerCase());
const DIALECT = "https://json-schema.org/draft/2020-12/schema";
const metaSchema = new Ajv2020({ strict: false });

/** Patterns that Python's `re` does not compile, as far as tools have them. */
const isPythonPattern = (pattern: string): boolean =>
  !/\\[pPkuzZcCeEgGhHiIjJlLmMoOqQyY](?![0-9a-fA-F]{4})|\(\?<[a-zA-Z]|\[\^?\]/.test(pattern);

const OPENAI: readonly Rule[] = [
  {
    id: "more than 128 tools",
    source: "https://github.com/zed-industries/zed/issues/32946",
    tools: ({ length }, report) => {
      if (length > 128) report(`array too long. Expected maximum length 128, got ${length}`);
    },
  },
  {
    id: "tool name",
    source: "https://platform.openai.com/docs/api-reference/chat/create",
    name: (name, report) => {
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) report(`name ${JSON.stringify(name)} does not match`);
    },
  },
  {
    id: "root is no object",
    source: "https://github.com/chatanywhere/GPT_API_free/issues/403",
    root: ({ type }, report) => {
      if (type !== "object") report(`schema must be of type "object", got ${JSON.stringify(type)}`);
    },
  },
  {
    id: "object without properties",
    source: "https://github.com/spring-projects/spring-ai/issues/4776",
    root: ({ properties }, report) => {
      if (!isNode(properties)) report("object schema missing properties");
    },
  },
  ...["oneOf", "anyOf", "allOf", "enum", "not"].map((keyword) => ({
    id: `${keyword} at the root`,
    source: "https://github.com/langchain-ai/langchainjs/issues/9804",
    root: (schema: Node, report: Report) => {
      if (keyword in schema) report(`schema must not have '${keyword}' at the top level`);
    },
  })),
  {
    id: "array without items",
    source: "https://github.com/streamnative/streamnative-mcp-server/issues/26",
    node: (node, report) => {
      if (typesOf(node).includes("array") && !("items" in node) && !("prefixItems" in node))
        report("array schema missing items");
    },
  },
  {
    id: "pattern",
    source: "https://github.com/pleaseai/shunt/pull/488",
    node: ({ pattern, patternProperties }, report) => {
      for (const each of [pattern ?? "", ...Object.keys(isNode(patternProperties) ? patternProperties : {})])
        if (!isPythonPattern(String(each))) report(`${JSON.stringify(each)} is not a 'regex'`);
    },
  },
  {
    id: "look-around in a pattern",
    source: "https://github.com/anomalyco/opencode/issues/32073",
    node: ({ pattern }, report) => {
      if (/\(\?<?[=!]/.test(String(pattern ?? ""))) report("regex lookaround is not supported");
    },
  },
];

/** Toolport's own: the providers read references, but gateways and frameworks between them often do not. */
const NO_REFERENCES: Rule = {
  id: "a reference",
  source: "https://platform.claude.com/docs/en/managed-agents/self-hosted-sandboxes",
  node: (node, report) => {
    if ("$ref" in node) report("a reference");
  },
};

const VALID_2020_12: Rule = {
  id: "invalid 2020-12",
  source: "https://github.com/anthropics/claude-code/issues/63673",
  root: (schema, report) => {
    // Whatever dialect it names, it is read as this one.
    if (metaSchema.validateSchema({ ...schema, $schema: DIALECT }) !== true)
      report(`JSON schema is invalid: ${metaSchema.errorsText(metaSchema.errors)}`);
  },
};

const STRICT_SOURCE = "https://platform.openai.com/docs/guides/structured-outputs#supported-schemas";
const STRICT_KEYWORDS = words(
  "type title description properties required additionalProperties items enum const anyOf $ref $defs pattern format " +
    "multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems",
);
const STRICT_FORMATS = words("date-time time date duration email hostname ipv4 ipv6 uuid");

const OPENAI_STRICT: readonly Rule[] = [
  {
    id: "strict: keyword",
    source: STRICT_SOURCE,
    node: (node, report) => {
      for (const keyword of Object.keys(node))
        if (!STRICT_KEYWORDS.has(keyword)) report(`keyword ${keyword}`);
    },
  },
  {
    id: "strict: no type",
    source: STRICT_SOURCE,
    node: (node, report) => {
      if (!("type" in node) && !("anyOf" in node) && !("enum" in node)) report("no type");
    },
  },
  {
    id: "strict: format",
    source: STRICT_SOURCE,
    node: ({ format }, report) => {
      if (format !== undefined && !STRICT_FORMATS.has(String(format))) report(`format ${format}`);
    },
  },
  {
    id: "strict: open object",
    source: STRICT_SOURCE,
    node: (node, report) => {
      if (typesOf(node).includes("object") && node["additionalProperties"] !== false)
        report("additionalProperties must be false");
    },
  },
  {
    id: "strict: optional property",
    source: STRICT_SOURCE,
    node: (node, report) => {
      if (!typesOf(node).includes("object")) return;
      const required = list(node["required"]);
      for (const name of names(node)) if (!required.includes(name)) report(`${name} must be required`);
      for (const name of required) if (!names(node).includes(String(name))) report(`${name} is unknown`);
    },
  },
  {
    id: "strict: object without properties",
    source: STRICT_SOURCE,
    node: (node, report) => {
      if (typesOf(node).includes("object") && !isNode(node["properties"])) report("no properties");
    },
  },
  {
    id: "strict: array without items",
    source: STRICT_SOURCE,
    node: (node, report) => {
      if (typesOf(node).includes("array") && !isNode(node["items"])) report("array without items");
    },
  },
  {
    id: "strict: size",
    source: STRICT_SOURCE,
    root: (schema, report) => {
      let [properties, values, text] = [0, 0, 0];
      walk(schema, "#", (node, path) => {
        const own = list(node["enum"]).join("").length;
        properties += names(node).length;
        values += list(node["enum"]).length;
        text += names(node).join("").length + own;
        if (list(node["enum"]).length > 250 && own > 15_000) report(`${path}: enum too long`);
        if (path.split("/properties/").length - 1 > 10) report(`${path}: nested deeper than 10 levels`);
      });
      if (properties > 5_000) report("more than 5000 properties");
      if (values > 1_000) report("more than 1000 enum values");
      if (text > 120_000) report("more than 120000 characters");
    },
  },
];

const ANTHROPIC: readonly Rule[] = [
  {
    id: "tool name",
    source: "https://docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use",
    name: (name, report) => {
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) report(`name ${JSON.stringify(name)} does not match`);
    },
  },
  {
    id: "root is no object",
    source: "https://docs.claude.com/en/api/messages",
    root: ({ type }, report) => {
      if (type !== "object") report("input_schema.type: Input should be 'object'");
    },
  },
  ...["oneOf", "anyOf", "allOf"].map((keyword) => ({
    id: `${keyword} at the root`,
    source: "https://github.com/anthropics/claude-code/issues/40075",
    root: (schema: Node, report: Report) => {
      if (keyword in schema) report("input_schema does not support oneOf, allOf, or anyOf at the top level");
    },
  })),
  {
    id: "property key",
    source: "https://github.com/anthropics/claude-code/issues/79418",
    node: (node, report) => {
      for (const name of names(node))
        if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(name)) report(`Property keys should match pattern: ${name}`);
    },
  },
  VALID_2020_12,
];

const GEMINI_REQUEST: readonly Rule[] = [
  {
    id: "more than 512 declarations",
    source: "https://github.com/google-gemini/gemini-cli/issues/19083",
    tools: ({ length }, report) => {
      if (length > 512) report("At most 512 function declarations can be specified");
    },
  },
  {
    id: "function name",
    source: "https://github.com/kaitranntt/ccs/issues/25",
    name: (name, report) => {
      if (!/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/.test(name))
        report(`Invalid function name ${JSON.stringify(name)}`);
    },
  },
];

/** The fields of the message `Schema`: https://ai.google.dev/api/caching#Schema */
const MESSAGE_FIELDS = words(
  "type format title description nullable enum maxItems minItems properties required minProperties maxProperties " +
    "minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum",
);
const MESSAGE_TYPES = words("string number integer boolean array object null");

/** `parameters`: the message that JSON is read into. Names of types are taken in either case. */
const GEMINI_MESSAGE: readonly Rule[] = [
  {
    id: "root is no OBJECT",
    source: "https://github.com/spring-projects/spring-ai/issues/1373",
    root: ({ type }, report) => {
      if (String(type).toLowerCase() !== "object") report("parameters schema should be of type OBJECT");
    },
  },
  ...["$ref", "$defs"].map((keyword) => ({
    id: keyword,
    source: "https://ai.google.dev/api/caching#Schema",
    node: (node: Node, report: Report) => {
      if (keyword in node) report(`Unknown name "${keyword}": Cannot find field`);
    },
  })),
  {
    id: "unknown field",
    source: "https://github.com/zed-extensions/mcp-server-brave-search/issues/12",
    node: (node, report) => {
      for (const keyword of Object.keys(node))
        if (!MESSAGE_FIELDS.has(keyword)) report(`Unknown name "${keyword}": Cannot find field`);
    },
  },
  {
    id: "list of types",
    source: "https://discuss.ai.google.dev/t/gemini-rejects-tool-json-schema-with-array-of-types/4580",
    node: ({ type }, report) => {
      if (Array.isArray(type)) report("Proto field is not repeating, cannot start list");
    },
  },
  {
    id: "unknown type",
    source: "https://github.com/google-gemini/deprecated-generative-ai-js/issues/320",
    node: ({ type }, report) => {
      if (typeof type === "string" && !MESSAGE_TYPES.has(type.toLowerCase())) report(`Invalid value ${type}`);
    },
  },
  {
    id: "no type",
    source: "https://github.com/google-gemini/gemini-cli/issues/2282",
    node: (node, report) => {
      if (!("type" in node) && !("anyOf" in node)) report("schema didn't specify the schema type field");
    },
  },
  {
    id: "enum of other types than STRING",
    source: "https://github.com/microsoft/azure-devops-mcp/issues/139",
    node: (node, report) => {
      if (!("enum" in node)) return;
      if (typesOf(node).join() !== "string") report("enum only allowed for STRING type");
      for (const value of list(node["enum"]))
        if (typeof value !== "string")
          report(`Invalid value at enum (TYPE_STRING), ${JSON.stringify(value)}`);
    },
  },
  {
    id: "empty enum value",
    source: "https://github.com/Bobsilvio/ha-claude/pull/32",
    node: (node, report) => {
      if (list(node["enum"]).includes("")) report("enum: cannot be empty");
    },
  },
  {
    id: "format",
    source: "https://github.com/google-gemini/gemini-cli/issues/3178",
    node: (node, report) => {
      if (typesOf(node).includes("string") && "format" in node)
        if (!["enum", "date-time"].includes(String(node["format"])))
          report("only 'enum' and 'date-time' are supported for STRING type");
    },
  },
  {
    id: "array without items",
    source: "https://github.com/cline/cline/issues/7339",
    node: (node, report) => {
      if (
        typesOf(node).includes("array") &&
        !(isNode(node["items"]) && Object.keys(node["items"]).length > 0)
      )
        report("items: missing field");
    },
  },
  {
    // A map has no presence in this message: `properties: {}` and none are the same.
    id: "object without properties",
    source: "https://github.com/browser-use/browser-use/issues/7",
    node: (node, report) => {
      if (typesOf(node).includes("object") && names(node).length === 0)
        report("properties: should be non-empty for OBJECT type");
    },
  },
  {
    id: "undeclared required name",
    source: "https://github.com/iBUHub/AIStudioToAPI/issues/154",
    node: (node, report) => {
      for (const name of list(node["required"]))
        if (!names(node).includes(String(name))) report(`required: property ${name} is not defined`);
    },
  },
  {
    id: "required beside another type",
    source: "https://github.com/goruck/home-generative-agent/pull/525",
    node: (node, report) => {
      if ("required" in node && !typesOf(node).includes("object"))
        report("required: only allowed for OBJECT type");
    },
  },
  {
    id: "property name",
    source: "https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling",
    node: (node, report) => {
      for (const name of names(node))
        if (!/^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/.test(name)) report(`parameter name ${JSON.stringify(name)}`);
    },
  },
  {
    id: "fields beside anyOf",
    source: "https://github.com/BerriAI/litellm/issues/11164",
    node: (node, report) => {
      if ("anyOf" in node && Object.keys(node).length > 1) report("any_of must be the only field set");
    },
  },
];

const JSON_SOURCE = "https://ai.google.dev/api/generate-content#FIELDS.response_json_schema";
const JSON_KEYWORDS = words(
  "type format title description enum items prefixItems minItems maxItems minimum maximum anyOf oneOf properties " +
    "additionalProperties required propertyOrdering",
);

/** `parametersJsonSchema`. */
const GEMINI_JSON: readonly Rule[] = [
  {
    id: "root is no object",
    source: JSON_SOURCE,
    root: ({ type }, report) => {
      if (type !== "object") report("the root is no object");
    },
  },
  {
    id: "keyword",
    source: JSON_SOURCE,
    node: (node, report) => {
      for (const keyword of Object.keys(node)) if (!JSON_KEYWORDS.has(keyword)) report(`keyword ${keyword}`);
    },
  },
  {
    id: "enum value",
    source: JSON_SOURCE,
    node: (node, report) => {
      for (const value of list(node["enum"]))
        if (!["string", "number"].includes(typeof value) || value === "") report(`enum value ${value}`);
    },
  },
  VALID_2020_12,
];

/** The rules for the schemas of each form. */
export const SCHEMA_RULES: Readonly<Record<RuleTarget, readonly Rule[]>> = {
  openai: [...OPENAI, VALID_2020_12, NO_REFERENCES],
  "openai-strict": [...OPENAI, ...OPENAI_STRICT, VALID_2020_12],
  anthropic: [...ANTHROPIC, NO_REFERENCES],
  "gemini-json": [...GEMINI_REQUEST, ...GEMINI_JSON],
  "gemini-openapi": [...GEMINI_REQUEST, ...GEMINI_MESSAGE],
  portable: [
    ...OPENAI,
    ...ANTHROPIC,
    // Frameworks leave `parameters` out when the root has no properties.
    ...GEMINI_MESSAGE.filter(({ id }) => id !== "object without properties"),
    {
      ...GEMINI_MESSAGE.find(({ id }) => id === "object without properties")!,
      node: (node, report, path) => {
        if (path !== "#" && typesOf(node).includes("object") && names(node).length === 0)
          report("properties: should be non-empty for OBJECT type");
      },
    },
  ],
};

export interface Refusal {
  readonly rule: string;
  readonly source: string;
  /** The tool; undefined: the list as a whole. */
  readonly tool: string | undefined;
  readonly problem: string;
}

/** What a provider would refuse in the tools of one request. */
export function requestRefusals(target: RuleTarget, tools: readonly SentTool[]): Refusal[] {
  const rules = SCHEMA_RULES[target];
  const found: Refusal[] = [];
  const reporter =
    ({ id, source }: Rule, tool?: string): Report =>
    (problem) =>
      found.push({ rule: id, source, tool, problem });
  for (const rule of rules) rule.tools?.(tools, reporter(rule));
  for (const { name, schema } of tools) {
    for (const rule of rules) rule.name?.(name, reporter(rule, name));
    found.push(...schemaRefusals(target, schema).map((refusal) => ({ ...refusal, tool: name })));
  }
  return found;
}

/** What a provider would refuse in a tool's parameters. */
export function schemaRefusals(target: RuleTarget, schema: unknown): Refusal[] {
  const found: Refusal[] = [];
  // A Gemini declaration without parameters is a function without arguments.
  if (schema === undefined && target.startsWith("gemini")) return found;
  const root = isNode(schema) ? schema : {};
  for (const { id, source, root: ofRoot, node: ofNode } of SCHEMA_RULES[target]) {
    const report = (path: string) => (problem: string) =>
      void found.push({ rule: id, source, tool: undefined, problem: `${path}: ${problem}` });
    ofRoot?.(root, report("#"));
    if (ofNode !== undefined) walk(root, "#", (node, path) => ofNode(node, report(path), path));
  }
  return found;
}

/** The same in words, one each. Empty: it takes them. */
export const refusals = (target: RuleTarget, schema: unknown): string[] =>
  schemaRefusals(target, schema).map(({ problem }) => problem);

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
