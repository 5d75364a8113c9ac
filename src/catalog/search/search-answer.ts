/** The result of `search_tools`. Loaded with the first search: most programs show all tools. */
import type { ToolInfo } from "../../model/tool-info.js";
import { compactSchema } from "../../schema/derive/compact-schema.js";
import { cutText, tidyText } from "../../util/shorten-text.js";
import type { SearchMatch } from "./search-index.js";

/** Maximum size of the definitions of tools that the query names; more would defeat the purpose. */
const MAX_NAMED_CHARACTERS = 32_000;
/** Maximum size with the definitions of other matches: about 1,200 tokens. */
const MAX_ANSWER_CHARACTERS = 5_000;
const MAX_SHORT_DESCRIPTION = 200;

/**
 * The result of `search_tools` as compact JSON. The best match is always complete, and so are tools that the query names, within a
 * generous limit. Other matches are complete while the answer is short; the rest are only named.
 */
export function searchAnswer(matches: readonly SearchMatch[]): string {
  if (matches.length === 0) return JSON.stringify({ tools: [], hint: "Nothing found. Try other words." });
  let size = 0;
  let shortened = false;
  const tools = matches.map(({ tool, isNamed }, index) => {
    const whole = wholeDefinition(tool);
    const limit = isNamed ? MAX_NAMED_CHARACTERS : MAX_ANSWER_CHARACTERS;
    const isWhole = index === 0 || size + whole.length <= limit;
    if (!isWhole) shortened = true;
    const text = isWhole ? whole : shortDefinition(tool);
    size += text.length;
    return text;
  });
  const hint = "Search for the exact names of tools to see their inputSchema.";
  return `{"tools":[${tools.join(",")}]${shortened ? `,"hint":${JSON.stringify(hint)}` : ""}}`;
}

/** Written shorter, with the same meaning: this text is for models only. */
function wholeDefinition({ name, title, description, inputSchema }: ToolInfo): string {
  return JSON.stringify({
    name,
    title,
    description: description && tidyText(description),
    inputSchema: compactSchema(inputSchema, { dropsTypes: true, typeLists: true }),
  });
}

function shortDefinition({ name, title, description }: ToolInfo): string {
  const short = description && cutText(tidyText(description).replace(/\s+/g, " "), MAX_SHORT_DESCRIPTION);
  return JSON.stringify({ name, title, description: short });
}
