/** The code blocks of the README of `@langchain/mcp-adapters` 1.1.4, as published and as they run here. */
import { readMarkdown } from "../../../test/docs/markdown.js";
import { README_BLOCKS, repair } from "./readme-repairs.js";

const PATH = "test/fixtures/langchain-readme/blocks.md";
export const original = readMarkdown(PATH).blocks;
export const repaired = new Map(
  README_BLOCKS.map((entry) => [entry.block, repair(original[entry.block - 1]!.text, entry)]),
);
