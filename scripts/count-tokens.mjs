/** Counts o200k tokens with `gpt-tokenizer`, which is fetched into `.cache/` on first use: only reports need exact figures. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { fetchTool } from "./fetch-tool.mjs";

const TOKENIZER_VERSION = "4.0.0";

let counting;

/** The number of o200k tokens of a text. */
export async function countTokens(text) {
  counting ??= load();
  return (await counting)(text);
}

async function load() {
  const home = await fetchTool("gpt-tokenizer", "gpt-tokenizer", TOKENIZER_VERSION);
  const { countTokens: count } = await import(pathToFileURL(join(home, "esm/encoding/o200k_base.js")).href);
  // Texts of servers may contain marks such as <|endoftext|>; they count as plain text.
  return (text) => count(text, { disallowedSpecial: new Set() });
}
