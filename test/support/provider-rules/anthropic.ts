/** Rules of Anthropic. */
import { type Node, names, type Report, type Rule, VALID_2020_12 } from "./rule.js";

export const ANTHROPIC: readonly Rule[] = [
  {
    id: "tool name",
    source: "https://docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use",
    name: (name, report) => {
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) report(`name ${JSON.stringify(name)} does not match`);
    },
  },
  {
    id: "root is not an object",
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
