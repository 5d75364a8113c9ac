/** Rules of OpenAI. */
import { isNode, list, type Node, names, type Report, type Rule, typesOf, walk, words } from "./rule.js";

/** Patterns used by tools that Python's `re` does not compile. */
const isPythonPattern = (pattern: string): boolean =>
  !/\\[pPkuzZcCeEgGhHiIjJlLmMoOqQyY](?![0-9a-fA-F]{4})|\(\?<[a-zA-Z]|\[\^?\]/.test(pattern) &&
  compiles(pattern.replace(/^\(\?[aimsux]+\)/, "").replaceAll("(?P<", "(?<"));

/** Groups, brackets and quantifiers that are wrong in JavaScript are wrong in Python, or new there. */
function compiles(pattern: string): boolean {
  try {
    new RegExp(pattern);
    return true;
  } catch {
    return false;
  }
}

const BRACKET_IN_CLASS = /(?:^|[^\\])(?:\\\\)*\[(?:\\.|[^\]\\[])*\[/s;

const patternsOf = ({ pattern, patternProperties }: Node): string[] =>
  [pattern ?? "", ...Object.keys(isNode(patternProperties) ? patternProperties : {})].map(String);

export const OPENAI: readonly Rule[] = [
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
    id: "root is not an object",
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
    node: (node, report) => {
      for (const each of patternsOf(node))
        if (!isPythonPattern(each)) report(`${JSON.stringify(each)} is not a 'regex'`);
    },
  },
  {
    // OpenAI-compatible APIs compile patterns with Rust's engine, which nests classes.
    id: "bracket in a class of a pattern",
    source: "https://github.com/NangoHQ/nango/issues/7547",
    node: (node, report) => {
      for (const each of patternsOf(node))
        if (BRACKET_IN_CLASS.test(each)) report(`${JSON.stringify(each)} is not a "regex"`);
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

const STRICT_SOURCE = "https://platform.openai.com/docs/guides/structured-outputs#supported-schemas";
const STRICT_KEYWORDS = words(
  "type title description properties required additionalProperties items enum const anyOf $ref $defs pattern format " +
    "multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems",
);
const STRICT_FORMATS = words("date-time time date duration email hostname ipv4 ipv6 uuid");

export const OPENAI_STRICT: readonly Rule[] = [
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
