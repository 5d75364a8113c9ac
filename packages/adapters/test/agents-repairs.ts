/**
 * All changes to the code blocks of Cloudflare's page before they run: the import, names that the page uses without
 * declaring them, and local servers in place of the hosts that it names.
 */
import type { ReadmeBlock, Repair } from "./readme-repairs.js";

const entryPoint: Repair = {
  why: "The import: the one change that a user makes",
  from: /"agents((\/mcp)?)"/,
  to: '"toolport/agents$1"',
};
const missingImport: Repair = {
  why: "The block uses Agent and does not import it",
  from: /^/,
  to: 'import { Agent } from "toolport/agents";\n',
};
const weather: Repair = {
  why: "A host that is only named; a local server stands in for it",
  from: '"https://weather-mcp.example.com/mcp"',
  to: "servers.weather",
};
const server: Repair = { ...weather, from: '"https://mcp.example.com/mcp"', to: "servers.other" };

/** Every block with a class, by its number in the fixture. */
export const CLASS_BLOCKS: readonly ReadmeBlock[] = [
  { block: 1, repairs: [entryPoint, weather] },
  { block: 2, repairs: [entryPoint, weather] },
  { block: 4, repairs: [missingImport, weather] },
  { block: 5, repairs: [missingImport, weather] },
  { block: 7, repairs: [missingImport] },
  { block: 8, repairs: [missingImport] },
  { block: 11, repairs: [missingImport] },
  { block: 12, repairs: [missingImport] },
  { block: 21, repairs: [missingImport] },
  { block: 22, repairs: [missingImport] },
  { block: 23, repairs: [missingImport] },
  { block: 24, repairs: [missingImport] },
  { block: 25, repairs: [entryPoint, missingImport, server] },
  { block: 26, repairs: [entryPoint, missingImport, server] },
];

/** A block that shows a type, and our type that must equal it. */
export interface SignatureBlock {
  readonly block: number;
  /** Our type. */
  readonly ours: string;
  /** A method as written in a class, a bare type, or a declared type with its name. */
  readonly shows: { readonly method: string } | "type" | { readonly name: string };
}

const method = (block: number, owner: string, name: string): SignatureBlock => ({
  block,
  ours: `${owner}["${name}"]`,
  shows: { method: name },
});

export const SIGNATURE_BLOCKS: readonly SignatureBlock[] = [
  method(3, "Agent", "addMcpServer"),
  method(6, "Agent", "removeMcpServer"),
  method(9, "Agent", "getMcpServers"),
  { block: 10, ours: "EntryPoint.MCPServersState", shows: "type" },
  method(13, "McpClientManager", "registerServer"),
  method(14, "McpClientManager", "connectToServer"),
  { block: 15, ours: "EntryPoint.MCPConnectionResult", shows: { name: "MCPConnectionResult" } },
  method(16, "McpClientManager", "discoverIfConnected"),
  { block: 17, ours: "EntryPoint.MCPDiscoverResult", shows: { name: "MCPDiscoverResult" } },
  method(18, "McpClientManager", "closeConnection"),
  method(19, "McpClientManager", "closeAllConnections"),
  method(20, "McpClientManager", "getAITools"),
];

/** The original names of the page's types. */
const NAMES = `import type {
  Client, ClientOptions, Prompt, Resource, ResourceTemplateType as ResourceTemplate, ServerCapabilities, Tool,
} from "@modelcontextprotocol/client";
import type { ToolSet } from "ai";
import type * as EntryPoint from "toolport/agents";
import type { Agent, MCPConnectionState, McpClientManager, TransportOptions } from "toolport/agents";
import { expectTypeOf } from "vitest";
`;
const RESULTS = `import type { MCPConnectionResult, MCPDiscoverResult, MCPServersState } from "toolport/agents";\n`;

/** A program that compiles only if the documented type equals ours. */
export function toTypeTest(text: string, { ours, shows }: SignatureBlock): string {
  const equal = (documented: string) => `expectTypeOf<${ours}>().toEqualTypeOf<${documented}>();\n`;
  if (shows === "type") return `${NAMES}type Documented = ${text};\n${equal("Documented")}`;
  if ("name" in shows) return `${NAMES}${text};\n${equal(shows.name)}`;
  const declared = `declare class Documented {\n${text.replace(/^async /, "")};\n}\n`;
  return `${NAMES}${RESULTS}${declared}${equal(`Documented["${shows.method}"]`)}`;
}
