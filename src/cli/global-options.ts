/** Options that every command accepts. */
import type { OptionSpec } from "./command.js";

export const GLOBAL_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  json: {
    type: "boolean",
    summary: "Print one JSON document on stdout, and errors as one JSON line on stderr",
  },
  output: {
    type: "string",
    value: "<form>",
    choices: ["text", "json", "raw"],
    summary: "Output format: text, json (same as --json) or raw (only the data)",
  },
  config: {
    type: "string",
    short: "c",
    multiple: true,
    value: "<path>",
    summary: "Configuration file, or a directory with one, in any known dialect",
  },
  state: { type: "string", value: "<path>", summary: "State file" },
  "no-state": { type: "boolean", summary: "Keep state in memory only" },
  timeout: { type: "string", value: "<ms>", summary: "How long to wait for a server" },
  yes: { type: "boolean", short: "y", summary: "Answer yes to every question" },
  quiet: { type: "boolean", short: "q", summary: "No progress, no warnings" },
  verbose: { type: "boolean", short: "v", summary: "Print details on stderr" },
  "no-color": { type: "boolean", summary: "No colours" },
  help: { type: "boolean", short: "h", summary: "Show help" },
  version: { type: "boolean", summary: "Show the version" },
};
