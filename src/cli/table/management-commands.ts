/** Commands that change which servers there are, find new ones, and log in to them. */
import type { CommandSpec, OptionSpec, PositionalSpec } from "../command.js";
import { SERVER } from "./words.js";

const NAMES: PositionalSpec = { ...SERVER, summary: "Their names", rest: true };

const PROJECT: OptionSpec = {
  type: "boolean",
  summary: "In ./toolport.json of this project instead of the user's own file",
};

const REPLACE: OptionSpec = { type: "boolean", summary: "In place of a server of the same name" };

const REGISTRY: OptionSpec = {
  type: "string",
  value: "<url>",
  summary: "Another registry than the official one",
};

export const MANAGEMENT_COMMANDS: readonly CommandSpec[] = [
  {
    name: "add",
    summary: "Add a server: a URL, a command, JSON from a README, or one of a registry",
    group: "servers",
    positionals: [
      { name: "name", summary: "What it is to be called", completes: "none", optional: true },
      {
        name: "url",
        summary: "Its URL, or its entry as JSON (- reads stdin)",
        completes: "none",
        optional: true,
      },
    ],
    takesCommand: true,
    options: {
      "from-registry": {
        type: "string",
        value: "<namespace/name>",
        summary: "A server of a registry; @version for one version",
      },
      input: {
        type: "string",
        multiple: true,
        value: "<name=value>",
        summary: "What a registry's server needs to be told",
      },
      prefer: {
        type: "string",
        value: "<way>",
        choices: ["remote", "package", "streamable-http", "sse", "npm", "pypi", "oci", "nuget", "mcpb"],
        summary: "Which way to take where a registry's server has several",
      },
      registry: REGISTRY,
      header: { type: "string", multiple: true, value: "<name: value>", summary: "A header for a URL" },
      env: { type: "string", multiple: true, value: "<name=value>", summary: "A variable for a command" },
      cwd: { type: "string", value: "<dir>", summary: "Where a command runs" },
      transport: {
        type: "string",
        value: "<kind>",
        choices: ["http", "sse", "websocket", "auto"],
        summary: "How a URL is spoken to (found out by itself)",
      },
      project: PROJECT,
      replace: REPLACE,
      "no-check": { type: "boolean", summary: "Do not connect to see whether it works" },
    },
    examples: [
      ["toolport add weather https://example.com/mcp", "a server at an address"],
      ["toolport add files -- npx -y @modelcontextprotocol/server-filesystem .", "one that is started"],
      ["toolport add --from-registry io.github.user/weather", "one of the registry; asks for what it needs"],
      [`toolport add time --json '{"command":"uvx","args":["mcp-server-time"]}'`, "as a README shows it"],
    ],
    load: () => import("../commands/add.js"),
  },
  {
    name: "remove",
    summary: "Remove servers from Toolport's own files",
    group: "servers",
    positionals: [NAMES],
    options: { project: PROJECT },
    examples: [["toolport remove weather", "files of other programs are never changed"]],
    load: () => import("../commands/remove.js"),
  },
  {
    name: "enable",
    summary: "Switch servers on again",
    group: "servers",
    positionals: [NAMES],
    options: { project: PROJECT },
    examples: [["toolport enable weather", "use it again"]],
    load: () => import("../commands/enable.js"),
  },
  {
    name: "disable",
    summary: "Switch servers off without removing them",
    group: "servers",
    positionals: [NAMES],
    options: { project: PROJECT },
    examples: [["toolport disable weather", "keep it, but do not use it"]],
    load: () => import("../commands/disable.js"),
  },
  {
    name: "import",
    summary: "Copy servers of Claude, Cursor, VS Code and others into Toolport's own file",
    group: "servers",
    positionals: [{ ...NAMES, summary: "Only these", completes: "none", optional: true }],
    options: {
      from: {
        type: "string",
        multiple: true,
        value: "<program>",
        summary: "claude, cursor, vscode, codex …, or a file",
      },
      "dry-run": { type: "boolean", summary: "Only show what would be copied" },
      project: PROJECT,
      replace: REPLACE,
    },
    examples: [
      ["toolport import --dry-run", "everything there is"],
      ["toolport import --from cursor --from vscode", "only from these"],
    ],
    load: () => import("../commands/import.js"),
  },
  {
    name: "export",
    summary: "Write servers the way another program wants them",
    group: "servers",
    positionals: [{ ...NAMES, summary: "Only these", optional: true }],
    options: {
      format: {
        type: "string",
        value: "<program>",
        choices: ["vscode", "claude", "cursor", "toolport"],
        summary: "For whom (toolport)",
      },
      out: { type: "string", value: "<file>", summary: "Write it to this file" },
      "keep-secrets": { type: "boolean", summary: "Write values of headers and variables, too" },
    },
    examples: [["toolport export --format vscode --out .vscode/mcp.json", "secrets become inputs"]],
    load: () => import("../commands/export.js"),
  },
  {
    name: "search",
    summary: "Search a registry for servers",
    group: "servers",
    positionals: [{ name: "text", summary: "Part of the name", completes: "none", rest: true }],
    options: {
      limit: { type: "string", value: "<count>", summary: "How many at most (20)" },
      cursor: { type: "string", value: "<cursor>", summary: "Where the page before ended" },
      registry: REGISTRY,
    },
    examples: [["toolport search weather", "then: toolport add --from-registry <name>"]],
    load: () => import("../commands/search.js"),
  },
  {
    name: "auth",
    summary: "Log in to a server",
    group: "servers",
    positionals: [SERVER],
    options: {
      reset: { type: "boolean", summary: "Log out first, to log in as somebody else" },
      "no-browser": { type: "boolean", summary: "Print the page instead of opening it" },
    },
    examples: [
      ["toolport auth weather", "in the browser"],
      ["toolport auth weather --no-browser --timeout 120000", "by hand, within two minutes"],
    ],
    load: () => import("../commands/auth.js"),
  },
  {
    name: "logout",
    summary: "Revoke and forget the tokens of a server",
    group: "servers",
    positionals: [SERVER],
    options: {},
    examples: [["toolport logout weather", "the next call needs a login again"]],
    load: () => import("../commands/logout.js"),
  },
];
