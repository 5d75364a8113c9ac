/**
 * All changes to the code blocks of the README of `@langchain/mcp-adapters` before they run: the import, mistakes of the
 * README, and local stand-ins for the servers, keys and stores that it names.
 */

export interface Repair {
  /** What is wrong or missing. */
  readonly why: string;
  readonly from: string | RegExp;
  readonly to: string;
}

export interface ReadmeBlock {
  /** Its number in `test/fixtures/langchain-readme/blocks.md`. */
  readonly block: number;
  readonly repairs: readonly Repair[];
}

const changedImport: Repair = {
  why: "The import: the one change that a user makes",
  from: '"@langchain/mcp-adapters"',
  to: '"toolport/langchain"',
};
const missingImport: Repair = {
  why: "The block uses MultiServerMCPClient and does not import it",
  from: /^/,
  to: 'import { MultiServerMCPClient } from "toolport/langchain";\n',
};
const math: Repair = {
  why: "A package that does not exist; a local process stands in for it",
  from: /command: "npx",\s*args: \["-y", "@modelcontextprotocol\/server-math"\]/g,
  to: "command: servers.math.command, args: servers.math.args",
};
const python: Repair = {
  why: "A script that the README does not have; a local process stands in for it",
  from: /command: "python",\s*args: \["data_server\.py"\]/g,
  to: "command: servers.data.command, args: servers.data.args",
};
const llm: Repair = {
  why: "An option of createReactAgent; that of createAgent is called model",
  from: /\bllm: model\b/,
  to: "model",
};
const closed = (from: string): Repair => ({
  why: "A port on which some other program may listen; on this one none does",
  from: `"${from}"`,
  to: "servers.closed.url",
});
const url = (from: string, name: string): Repair => ({
  why: `A host that is only named; a local server (${name}) stands in for it`,
  from: `"${from}"`,
  to: `servers.${name}.url`,
});
const nameless = (type: string): Repair => ({
  why: "A bare object is no program; it gets a name, a type and an export",
  from: /^\{/,
  to: `import type { ClientConfig, Connection, OutputHandling } from "toolport/langchain";\nexport const block: ${type} = {`,
});

/** Every TypeScript block of the README, in order. */
export const README_BLOCKS: readonly ReadmeBlock[] = [
  {
    block: 2,
    repairs: [
      changedImport,
      math,
      {
        why: "A comma is missing",
        from: /\}\n(\s*)automaticSSEFallback: false/,
        to: "},\n$1automaticSSEFallback: false",
      },
      {
        why: "A package that would have to be downloaded; a local process stands in for it",
        from: /command: "npx",\s*args: \["-y", "@modelcontextprotocol\/server-filesystem"\]/,
        to: "command: servers.filesystem.command, args: servers.filesystem.args",
      },
      url("https://example.com/weather/mcp", "weather"),
      url("https://protected.example.com/mcp", "protected"),
      url("https://example.com/mcp", "github"),
      llm,
    ],
  },
  { block: 4, repairs: [changedImport, math, llm] },
  {
    block: 5,
    repairs: [
      changedImport,
      {
        why: "A package that would have to be downloaded; a local process stands in for it",
        from: /command: "npx",\s*args: \["-y", "@modelcontextprotocol\/server-everything"\]/,
        to: "command: servers.everything.command, args: servers.everything.args",
      },
      {
        why: '"Invoke tools as usual": these calls',
        from: "// ... invoke tools as usual ...",
        to: 'await client.setLoggingLevel("debug");\nfor (const tool of tools) await tool.invoke({});\nawait served();',
      },
    ],
  },
  {
    block: 6,
    repairs: [
      changedImport,
      {
        why: "Headers need a server that is reached over HTTP, as the notes below the block say",
        from: /transport: "stdio",\s*command: "npx",\s*args: \["-y", "@modelcontextprotocol\/server-math"\]/,
        to: "url: servers.mathOverHttp.url",
      },
    ],
  },
  {
    block: 7,
    repairs: [
      { why: "A name with a hyphen needs quotes", from: "camera-server:", to: '"camera-server":' },
      { why: "The words are texts, not variables", from: /: content\b/g, to: ': "content"' },
      {
        why: "An address is left out; a local server stands in for it",
        from: /url: "\.\.\."/g,
        to: "url: servers.weather.url",
      },
      {
        why: "It is to be looked at from outside, and its texts are to stay what they are",
        from: "const clientConfig = {",
        to: 'import type { ClientConfig } from "toolport/langchain";\nexport const clientConfig: ClientConfig = {',
      },
    ],
  },
  { block: 8, repairs: [nameless("OutputHandling")] },
  { block: 9, repairs: [nameless("OutputHandling")] },
  {
    block: 10,
    repairs: [
      missingImport,
      python,
      {
        why: "A script that the README does not have; a local process stands in for it",
        from: /command: "node",\s*args: \["image_server\.js"\]/,
        to: "command: servers.image.command, args: servers.image.args",
      },
    ],
  },
  {
    block: 11,
    repairs: [
      missingImport,
      python,
      {
        why: "The tools fastTool and tool are never declared",
        from: "// You can use withConfig",
        to: 'const fastTool = tools.find((t) => t.name.includes("lookup"));\nconst tool = tools.find((t) => t.name.includes("normal"));\n\n// You can use withConfig',
      },
    ],
  },
  {
    block: 12,
    repairs: [
      missingImport,
      {
        why: "Two types are not imported",
        from: /^import type \{ OAuthClientProvider \}.*$/m,
        to: '$&\nimport type { OAuthClientInformationMixed, OAuthClientMetadata, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";',
      },
      {
        why: '"Implement other required methods": these are they',
        from: "  // Implement other required methods...",
        to: [
          "  clientInformation(): OAuthClientInformationMixed | undefined {",
          '    const stored = localStorage.getItem("mcp_client");',
          "    return stored ? JSON.parse(stored) : undefined;",
          "  }",
          "  saveClientInformation(client: OAuthClientInformationMixed): void {",
          '    localStorage.setItem("mcp_client", JSON.stringify(client));',
          "  }",
          "  redirectToAuthorization(url: URL): void {",
          '    localStorage.setItem("mcp_redirect", url.href);',
          "  }",
          "  saveCodeVerifier(verifier: string): void {",
          '    localStorage.setItem("mcp_verifier", verifier);',
          "  }",
          "  codeVerifier(): string {",
          '    return localStorage.getItem("mcp_verifier") ?? "";',
          "  }",
          "  // Implement other required methods...",
        ].join("\n"),
      },
      url("https://secure-mcp-server.example.com/mcp", "protected"),
      { why: "Both are to be used from outside", from: /$/, to: "\nexport { client, MyOAuthProvider };\n" },
    ],
  },
  { block: 13, repairs: [nameless("Connection"), math] },
  { block: 14, repairs: [nameless("Connection"), url("https://example.com/mcp-server", "github")] },
  { block: 15, repairs: [missingImport, math] },
  {
    block: 17,
    repairs: [
      missingImport,
      math,
      closed("http://localhost:9999/mcp"),
      {
        why: "They are to be looked at from outside",
        from: /$/,
        to: "\nexport { tools, workingClient, brokenClient };\n",
      },
    ],
  },
  {
    block: 18,
    repairs: [
      missingImport,
      closed("http://localhost:8000/mcp"),
      closed("http://localhost:8001/mcp"),
      { why: "It is to be used from outside", from: /$/, to: "\nexport { client };\n" },
    ],
  },
];

/** Applies the repairs; throws if one does not match. */
export function repair(text: string, { block, repairs }: ReadmeBlock): string {
  let repaired = text;
  for (const { why, from, to } of repairs) {
    const before = repaired;
    repaired = typeof from === "string" ? repaired.replaceAll(from, to) : repaired.replace(from, to);
    if (repaired === before) throw new Error(`Block ${block}: nothing to repair: ${why}`);
  }
  return repaired;
}
