/** Rules of Gemini. */
import {
  isNode,
  list,
  type Node,
  names,
  type Report,
  type Rule,
  typesOf,
  VALID_2020_12,
  walk,
  words,
} from "./rule.js";

/** Measured: the limit is not documented. */
const MOST_ITEMS = 960;

const SUM_OF_MAX_ITEMS: Rule = {
  id: "sum of maxItems",
  source: "https://github.com/googleapis/python-genai/issues/2170",
  root: (schema, report) => {
    let sum = 0;
    walk(schema, "#", ({ maxItems }) => {
      if (typeof maxItems === "number") sum += maxItems;
    });
    if (sum > MOST_ITEMS) report(`INVALID_ARGUMENT: maxItems of ${sum} in all`);
  },
};

export const GEMINI_REQUEST: readonly Rule[] = [
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

/** `parameters`: a protocol buffer message read from JSON. Type names are accepted in upper and lower case. */
export const GEMINI_MESSAGE: readonly Rule[] = [
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
    // An empty map equals a missing one in this message: `properties: {}` counts as none.
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
  SUM_OF_MAX_ITEMS,
];

const JSON_SOURCE = "https://ai.google.dev/api/generate-content#FIELDS.response_json_schema";
const JSON_KEYWORDS = words(
  "type format title description enum items prefixItems minItems maxItems minimum maximum anyOf oneOf properties " +
    "additionalProperties required propertyOrdering",
);

/** `parametersJsonSchema`. */
export const GEMINI_JSON: readonly Rule[] = [
  {
    id: "root is not an object",
    source: JSON_SOURCE,
    root: ({ type }, report) => {
      if (type !== "object") report("the root is not an object");
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
  SUM_OF_MAX_ITEMS,
  VALID_2020_12,
];
