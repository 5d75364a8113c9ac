/** The options of `toolport serve`, for help and completion. The code that reads them is loaded with the command. */
import type { OptionSpec } from "../command.js";

/** The clients for which `--print-config` writes an entry. */
const CLIENTS = ["claude-desktop", "claude-code", "cursor", "vscode", "codex"] as const;

export type ConfigClient = (typeof CLIENTS)[number];

export const SERVE_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  stdio: { type: "boolean", summary: "Serve one client on standard input and output (the default)" },
  http: { type: "string", value: "<[host:]port>", summary: "Serve over HTTP; port 0 takes a free one" },
  servers: {
    type: "string",
    multiple: true,
    value: "<a,b>",
    summary: "Only these servers and their fallbacks",
  },
  store: {
    type: "string",
    value: "<url>",
    summary: "Share state with other replicas: redis://… or postgres://… (or TOOLPORT_STORE)",
  },
  url: { type: "string", value: "<url>", summary: "The address that clients use, behind a proxy" },
  path: { type: "string", value: "<path>", summary: "The path of the MCP endpoint (/mcp)" },
  issuer: { type: "string", value: "<url>", summary: "Accept access tokens (JWT) of this issuer" },
  audience: {
    type: "string",
    multiple: true,
    value: "<text>",
    summary: "The audience of those tokens (the address of --url)",
  },
  "connect-client": {
    type: "string",
    value: "<id>",
    summary: "Let users log in to servers: the client id of this gateway at the issuer",
  },
  "allow-host": { type: "string", multiple: true, value: "<name>", summary: "Also accept this Host header" },
  "allow-origin": {
    type: "string",
    multiple: true,
    value: "<origin>",
    summary: "Accept requests of web pages of this origin",
  },
  "token-file": { type: "string", value: "<file>", summary: "The file with the token that clients send" },
  "no-token": { type: "boolean", summary: "Accept every request; on loopback addresses only" },
  "no-prefix": { type: "boolean", summary: "Do not prepend the name of the server to tool names" },
  "read-only": { type: "boolean", summary: "Offer only tools that their server marks as read-only" },
  code: { type: "boolean", summary: "Offer search and execute: clients call the tools in programs" },
  policy: { type: "string", value: "<file>", summary: "Rules that allow, deny or ask; changes are followed" },
  audit: { type: "string", value: "<file>", summary: "Append one line for every request to this file" },
  "drain-ms": { type: "string", value: "<ms>", summary: "How long open requests may finish at the end" },
  "print-config": {
    type: "string",
    value: "<client>",
    choices: CLIENTS,
    summary: `Print the configuration for a client and exit: ${CLIENTS.join(", ")}`,
  },
};
