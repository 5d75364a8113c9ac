/** Table rows of the commands that list, change and find servers, and log in to them. */
import {
  type CommandSpec,
  OPTIONAL_SERVER,
  type OptionSpec,
  type PositionalSpec,
  SERVER,
  TYPED_OPTIONS,
} from "../command.js";
import { PRINCIPAL_OPTION } from "../suspended-calls.js";

const NAMES: PositionalSpec = { ...SERVER, summary: "Names of the servers", rest: true };

const PROJECT: OptionSpec = {
  type: "boolean",
  summary: "Use ./toolport.json of this project instead of the user's own file",
};

const REPLACE: OptionSpec = { type: "boolean", summary: "Replace a server of the same name" };

const REGISTRY: OptionSpec = {
  type: "string",
  value: "<url>",
  summary: "Use this registry instead of the official one",
};

export const SERVER_COMMANDS: readonly CommandSpec[] = [
  {
    name: "list",
    summary: "List the servers with their state, tools and source",
    group: "servers",
    positionals: [{ ...OPTIONAL_SERVER, rest: true, summary: "Only these servers (names or URLs)" }],
    options: TYPED_OPTIONS,
    takesTyped: "servers",
    examples: [
      ["toolport list", "connect to every server and show the results"],
      ["toolport list --json", "the same as JSON"],
    ],
    load: async () => (await import("./list.js")).listCommand,
  },
  {
    name: "add",
    summary: "Add a server: a URL, a command, JSON from a README, or a registry entry",
    group: "servers",
    positionals: [
      { name: "name", summary: "Name for the server", completes: "none", optional: true },
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
        summary: "Take the server from a registry; append @version for one version",
      },
      input: {
        type: "string",
        multiple: true,
        value: "<name=value>",
        summary: "A value that the registry entry requires",
      },
      prefer: {
        type: "string",
        value: "<kind>",
        choices: ["remote", "package", "streamable-http", "sse", "npm", "pypi", "oci", "nuget", "mcpb"],
        summary: "Which remote or package to use if the registry entry has several",
      },
      registry: REGISTRY,
      header: { type: "string", multiple: true, value: "<name: value>", summary: "HTTP header for a URL" },
      env: {
        type: "string",
        multiple: true,
        value: "<name=value>",
        summary: "Environment variable for a command",
      },
      cwd: { type: "string", value: "<dir>", summary: "Working directory of a command" },
      transport: {
        type: "string",
        value: "<kind>",
        choices: ["http", "sse", "websocket", "auto"],
        summary: "Transport for a URL (detected automatically)",
      },
      project: PROJECT,
      replace: REPLACE,
      "no-check": { type: "boolean", summary: "Do not connect to the new server" },
    },
    examples: [
      ["toolport add weather https://example.com/mcp", "a remote server"],
      ["toolport add files -- npx -y @modelcontextprotocol/server-filesystem .", "a local command"],
      [
        "toolport add --from-registry io.github.user/weather",
        "a server from the registry; asks for required values",
      ],
      [`toolport add time --json '{"command":"uvx","args":["mcp-server-time"]}'`, "an entry from a README"],
    ],
    load: async () => (await import("./add.js")).addCommand,
  },
  {
    name: "remove",
    summary: "Remove servers from Toolport's own files",
    group: "servers",
    positionals: [NAMES],
    options: { project: PROJECT },
    examples: [["toolport remove weather", "files of other programs are never changed"]],
    load: async () => (await import("./change-servers.js")).changeServers("remove"),
  },
  {
    name: "enable",
    summary: "Enable servers again",
    group: "servers",
    positionals: [NAMES],
    options: { project: PROJECT },
    examples: [["toolport enable weather", "use it again"]],
    load: async () => (await import("./change-servers.js")).changeServers("enable"),
  },
  {
    name: "disable",
    summary: "Disable servers without removing them",
    group: "servers",
    positionals: [NAMES],
    options: { project: PROJECT },
    examples: [["toolport disable weather", "keep it in the file, but do not use it"]],
    load: async () => (await import("./change-servers.js")).changeServers("disable"),
  },
  {
    name: "import",
    summary: "Copy servers of Claude, Cursor, VS Code and others into Toolport's own file",
    group: "servers",
    positionals: [{ ...NAMES, summary: "Only these servers", completes: "none", optional: true }],
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
      ["toolport import --dry-run", "show all servers that were found"],
      ["toolport import --from cursor --from vscode", "only from these programs"],
    ],
    load: async () => (await import("./import.js")).importCommand,
  },
  {
    name: "export",
    summary: "Write servers in the format of another program",
    group: "servers",
    positionals: [{ ...NAMES, summary: "Only these servers", optional: true }],
    options: {
      format: {
        type: "string",
        value: "<program>",
        choices: ["vscode", "claude", "cursor", "toolport"],
        summary: "The program to write for (toolport)",
      },
      out: { type: "string", value: "<file>", summary: "Write to this file" },
      "keep-secrets": { type: "boolean", summary: "Include the values of headers and variables" },
    },
    examples: [["toolport export --format vscode --out .vscode/mcp.json", "secrets become inputs"]],
    load: async () => (await import("./export.js")).exportCommand,
  },
  {
    name: "search",
    summary: "Search a registry for servers",
    group: "servers",
    positionals: [{ name: "text", summary: "Part of the name", completes: "none", rest: true }],
    options: {
      limit: { type: "string", value: "<count>", summary: "Maximum number of results (20)" },
      cursor: { type: "string", value: "<cursor>", summary: "Continue after this page" },
      registry: REGISTRY,
    },
    examples: [["toolport search weather", "then: toolport add --from-registry <name>"]],
    load: async () => (await import("./search.js")).searchCommand,
  },
  {
    name: "auth",
    summary: "Log in to a server",
    group: "servers",
    positionals: [SERVER],
    options: {
      reset: { type: "boolean", summary: "Log out first, to log in with another account" },
      "no-browser": { type: "boolean", summary: "Print the login page's URL instead of opening it" },
      ...PRINCIPAL_OPTION,
      ...TYPED_OPTIONS,
    },
    takesTyped: "server",
    examples: [
      ["toolport auth weather", "in the browser"],
      ["toolport auth weather --no-browser --timeout 120000", "open the page yourself, within two minutes"],
    ],
    load: async () => (await import("./auth.js")).authCommand,
  },
  {
    name: "logout",
    summary: "Revoke and delete the tokens of a server",
    group: "servers",
    positionals: [SERVER],
    options: TYPED_OPTIONS,
    takesTyped: "server",
    examples: [["toolport logout weather", "the next call needs a new login"]],
    load: async () => (await import("./auth.js")).logoutCommand,
  },
];
