/** The MCP clients for which `toolport serve --print-config` writes an entry, and the format of their files. */

import type { ConfigClient } from "./serve-option-table.js";

/** What a client has to start or connect to. */
export type ClientTarget =
  | {
      readonly kind: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      /** Names of variables whose values the file must not contain. */
      readonly variables: readonly string[];
    }
  | {
      readonly kind: "http";
      readonly url: string;
      /** The variable with the token; undefined: no header. */
      readonly tokenVariable: string | undefined;
    };

interface ClientFormat {
  /** Name in messages. */
  readonly title: string;
  /** Where the text belongs. */
  readonly file: string;
  /** The client can connect to an HTTP server that its file names. */
  readonly hasHttp: boolean;
  /** The file can refer to variables, so that secrets stay out of it. */
  readonly hasReferences: boolean;
  /** The whole file with one server. */
  write(name: string, target: ClientTarget): Promise<string>;
}

const json = async (root: unknown): Promise<string> => JSON.stringify(root, undefined, 2);

/** `mcpServers`, with the client's syntax of a reference to a variable. */
function usualEntry(target: ClientTarget, refer: (variable: string) => string): Record<string, unknown> {
  if (target.kind === "stdio") {
    const env = Object.fromEntries(target.variables.map((name) => [name, refer(name)]));
    return {
      command: target.command,
      args: target.args,
      ...(target.variables.length > 0 && { env }),
    };
  }
  const { url, tokenVariable } = target;
  return {
    url,
    ...(tokenVariable !== undefined && { headers: { Authorization: `Bearer ${refer(tokenVariable)}` } }),
  };
}

const inputId = (variable: string): string => variable.toLowerCase().replaceAll("_", "-");

export const CLIENT_FORMATS: Readonly<Record<ConfigClient, ClientFormat>> = {
  "claude-desktop": {
    title: "Claude Desktop",
    file: "claude_desktop_config.json (Settings → Developer → Edit Config)",
    hasHttp: false,
    hasReferences: false,
    write: (name, target) => json({ mcpServers: { [name]: usualEntry(target, (variable) => variable) } }),
  },
  "claude-code": {
    title: "Claude Code",
    file: ".mcp.json of a project",
    hasHttp: true,
    hasReferences: true,
    write: (name, target) =>
      json({
        mcpServers: {
          [name]: { type: target.kind, ...usualEntry(target, (variable) => `\${${variable}}`) },
        },
      }),
  },
  cursor: {
    title: "Cursor",
    file: "~/.cursor/mcp.json, or .cursor/mcp.json of a project",
    hasHttp: true,
    hasReferences: true,
    write: (name, target) =>
      json({ mcpServers: { [name]: usualEntry(target, (variable) => `\${env:${variable}}`) } }),
  },
  vscode: {
    title: "VS Code",
    file: ".vscode/mcp.json of a project, or the user's mcp.json (command MCP: Open User Configuration)",
    hasHttp: true,
    hasReferences: true,
    write(name, target) {
      const variables = target.kind === "stdio" ? target.variables : [target.tokenVariable];
      const inputs = variables
        .filter((variable) => variable !== undefined)
        .map((variable) => ({
          ...{ type: "promptString", id: inputId(variable), description: variable, password: true },
        }));
      const entry = usualEntry(target, (variable) => `\${input:${inputId(variable)}}`);
      return json({
        ...(inputs.length > 0 && { inputs }),
        servers: { [name]: { type: target.kind, ...entry } },
      });
    },
  },
  codex: {
    title: "Codex",
    file: "~/.codex/config.toml",
    hasHttp: true,
    hasReferences: true,
    async write(name, target) {
      const { stringify } = await import("smol-toml");
      const entry =
        target.kind === "stdio"
          ? {
              command: target.command,
              args: target.args,
              ...(target.variables.length > 0 && { env_vars: target.variables }),
            }
          : {
              url: target.url,
              ...(target.tokenVariable !== undefined && { bearer_token_env_var: target.tokenVariable }),
            };
      return stringify({ mcp_servers: { [name]: entry } }).trimEnd();
    },
  },
};
