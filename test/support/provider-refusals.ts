/**
 * Rules of the providers for the tools of a request, from their documentation or the error messages of their APIs. Every rule
 * names its source. The rules are independent of how Toolport derives schemas, and this is their only copy: the contract of the
 * derivation and the HTTP stand-ins of the adapters both use it.
 */
import { ANTHROPIC } from "./provider-rules/anthropic.js";
import { GEMINI_JSON, GEMINI_MESSAGE, GEMINI_REQUEST } from "./provider-rules/gemini.js";
import { OPENAI, OPENAI_STRICT } from "./provider-rules/openai.js";
import {
  isNode,
  names,
  type Report,
  type Rule,
  type SentTool,
  typesOf,
  VALID_2020_12,
  walk,
} from "./provider-rules/rule.js";

export type { SentTool } from "./provider-rules/rule.js";

/** A form of a tool's schema. `portable`: accepted by all the others. */
export type RuleTarget =
  | "portable"
  | "openai"
  | "openai-strict"
  | "anthropic"
  | "gemini-json"
  | "gemini-openapi";

/** A rule of Toolport: the providers resolve references, but gateways and frameworks often do not. */
const NO_REFERENCES: Rule = {
  id: "a reference",
  source: "https://platform.claude.com/docs/en/managed-agents/self-hosted-sandboxes",
  node: (node, report) => {
    if ("$ref" in node) report("a reference");
  },
};

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
    // Frameworks omit `parameters` when the root has no properties.
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
  /** The tool; undefined: the whole list. */
  readonly tool: string | undefined;
  readonly problem: string;
}

/** Every form of a schema with rules. */
export const RULE_TARGETS = Object.keys(SCHEMA_RULES) as RuleTarget[];

/** Violations in the tools of one request. */
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

/** Violations in a tool's parameters. */
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

/** The same as texts. Empty: the provider accepts the tools. */
export const refusals = (target: RuleTarget, schema: unknown): string[] =>
  schemaRefusals(target, schema).map(({ problem }) => problem);
