/** Finds a tool by `server.tool` or by its public name, and suggests the closest name if there is none. */

import { withheldError } from "../catalog/safety/withheld-error.js";
import type { ServerEntry } from "../config/server-entry.js";
import type { CatalogError } from "../errors/catalog-error.js";
import type { ToolInfo } from "../model/tool-info.js";
import { suggest } from "../util/suggest.js";
import { CliError } from "./cli-error.js";
import type { CommandContext, OpenedPort, OpenPortOptions } from "./command-context.js";
import { connectServers, requireServer } from "./connect-servers.js";
import { shellWord } from "./next-command.js";

/** The server that a selector begins with, longest name first; undefined if no name matches. */
export const serversOf =
  (selector: string) =>
  (names: readonly string[]): readonly string[] | undefined => {
    const fitting = names.filter((name) => [".", "__"].some((mark) => selector.startsWith(`${name}${mark}`)));
    const [longest] = fitting.sort((a, b) => b.length - a.length);
    return longest === undefined ? undefined : [longest];
  };

interface SelectOptions {
  /** The command to suggest after a misspelt name. */
  readonly command: string;
  readonly options?: NonNullable<OpenPortOptions["options"]>;
  readonly principal?: string;
  /** See `OpenPortOptions.isSpecial`. @default false */
  readonly isSpecial?: boolean;
  /** Changes the entry of the tool's server, if the selector names it. @default none */
  readonly change?: (entry: ServerEntry) => ServerEntry;
}

/** Opens a port for the tool. If the selector names a server, only that server is opened. */
export async function openTool(
  context: CommandContext,
  selector: string,
  { command, options = {}, principal, isSpecial = false, change = (entry) => entry }: SelectOptions,
): Promise<{ opened: OpenedPort; server: string | undefined }> {
  let server: string | undefined;
  const opened = await context.openPort({
    options,
    isSpecial,
    ...(principal !== undefined && { principal }),
    changeEntry: (entry, name) => (name === server ? change(entry) : entry),
    servers: (names) => {
      const found = names.includes(selector) ? [selector] : serversOf(selector)(names);
      [server] = found ?? [];
      if (found === undefined) throwIfMistyped(selector, names, command);
      return found;
    },
  });
  return { opened, server };
}

/** Connects the server of a tool (all servers, if the server is unknown) and finds the tool. */
export async function requireTool(
  context: CommandContext,
  opened: OpenedPort,
  { server, selector, command }: { server: string | undefined; selector: string; command: string },
): Promise<ToolInfo> {
  if (server === undefined) await connectServers(context, opened);
  else await requireServer(context, opened, server);
  const tools = await opened.toolport.tools({ all: true, signal: context.signal });
  const tool = findTool(tools, selector);
  if (tool !== undefined) return tool;
  if (server === selector) throw onlyServer(server);
  throw (server !== undefined && withheld(opened, server, selector)) || missing(tools, selector, command);
}

/** Matches `server.tool`, the public name, or the tool's own name if it is unique. */
function findTool(tools: readonly ToolInfo[], selector: string): ToolInfo | undefined {
  const exact = tools.find(
    (tool) => `${tool.server}.${tool.sourceName}` === selector || tool.name === selector,
  );
  if (exact !== undefined) return exact;
  const bare = tools.filter((tool) => tool.sourceName === selector);
  return bare.length === 1 ? bare[0] : undefined;
}

/** Prevents a misspelt server name from starting every server. */
export function throwIfMistyped(selector: string, names: readonly string[], command: string): void {
  const mark = selector.indexOf(".");
  if (mark < 0) return;
  const [close] = suggest(selector.slice(0, mark), names, 1);
  if (close === undefined) return;
  const meant = `${close}${selector.slice(mark)}`;
  throw new CliError({
    code: "UNKNOWN_SERVER",
    message: `There is no server ${JSON.stringify(selector.slice(0, mark))}. Did you mean ${close}?`,
    next: `toolport ${command} ${shellWord(meant)}`,
    exitCode: 2,
  });
}

function withheld({ toolport }: OpenedPort, server: string, selector: string): CatalogError | undefined {
  const found = toolport
    .snapshot()
    .withheldTools.find(
      (tool) =>
        tool.server === server && [`${server}.${tool.name}`, `${server}__${tool.name}`].includes(selector),
    );
  return found === undefined ? undefined : withheldError(found);
}

const onlyServer = (server: string): CliError =>
  new CliError({
    message: `${JSON.stringify(server)} is a server. Name one of its tools: ${server}.<tool>`,
    next: `toolport tools ${shellWord(server)}`,
  });

function missing(tools: readonly ToolInfo[], selector: string, command: string): CliError {
  const names = tools.flatMap((tool) => [`${tool.server}.${tool.sourceName}`, tool.name]);
  const [close] = suggest(selector, names, 1);
  const [server] = serversOf(selector)([...new Set(tools.map((tool) => tool.server))]) ?? [];
  return new CliError({
    code: "TOOL_NOT_FOUND",
    message: `There is no tool ${JSON.stringify(selector)}${close === undefined ? "" : `. Did you mean ${close}?`}`,
    next:
      close === undefined
        ? `toolport tools${server === undefined ? "" : ` ${shellWord(server)}`}`
        : `toolport ${command} ${shellWord(close)}`,
  });
}
