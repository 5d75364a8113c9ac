/** Options that every command takes. */
import type { OptionSpec } from "./command.js";

export const GLOBAL_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  json: { type: "boolean", summary: "One JSON document on stdout, errors as one JSON line on stderr" },
  output: {
    type: "string",
    value: "<form>",
    choices: ["text", "json", "raw"],
    summary: "How to print: text, json (as --json) or raw (just the data)",
  },
  config: {
    type: "string",
    short: "c",
    multiple: true,
    value: "<path>",
    summary: "A configuration file or a directory with one, in any known dialect",
  },
  state: { type: "string", value: "<path>", summary: "The file that keeps state" },
  "no-state": { type: "boolean", summary: "Keep state in memory only" },
  timeout: { type: "string", value: "<ms>", summary: "How long to wait for a server" },
  yes: { type: "boolean", short: "y", summary: "Agree to everything that would be asked" },
  quiet: { type: "boolean", short: "q", summary: "No progress, no warnings" },
  verbose: { type: "boolean", short: "v", summary: "Tell what goes on, on stderr" },
  "no-color": { type: "boolean", summary: "No colours" },
  help: { type: "boolean", short: "h", summary: "Show help" },
  version: { type: "boolean", summary: "Show the version" },
};
