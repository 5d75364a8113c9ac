/** Finds the tool that `server.tool` or a public name stands for, or says what was meant. */

import { withheldError } from "../catalog/safety/withheld-error.js";
import type { ServerEntry } from "../config/server-entry.js";
import type { CatalogError } from "../errors/catalog-error.js";
import type { ToolInfo } from "../model/tool-info.js";
import { suggest } from "../util/suggest.js";
import { CliError } from "./cli-error.js";
import { connectServers, requireServer } from "./connect-servers.js";
import { shellWord } from "./next-command.js";
import type { OpenedPort, OpenPortOptions, Shell } from "./shell.js";

/** The servers a selector can mean: the longest name that fits; undefined: it may be anybody's. */
export const serversOf =
  (selector: string) =>
  (names: readonly string[]): readonly string[] | undefined => {
    const fitting = names.filter((name) => [".", "__"].some((mark) => selector.startsWith(`${name}${mark}`)));
    const [longest] = fitting.sort((a, b) => b.length - a.length);
    return longest === undefined ? undefined : [longest];
  };

interface SelectOptions {
  /** The command that is to be tried again after a slip. */
  readonly command: string;
  readonly options?: NonNullable<OpenPortOptions["options"]>;
  /** Changes the entry of the tool's server, where that can be told from the name. @default none */
  readonly change?: (entry: ServerEntry) => ServerEntry;
}

export interface SelectedTool {
  readonly opened: OpenedPort;
  readonly tool: ToolInfo;
}

/** Opens a port with the server of a tool, and nothing else where that can be told from the name. */
export async function selectTool(
  shell: Shell,
  selector: string,
  { command, options = {}, change = (entry) => entry }: SelectOptions,
): Promise<SelectedTool> {
  let server: string | undefined;
  const opened = await shell.openPort({
    options,
    changeEntry: (entry, name) => (name === server ? change(entry) : entry),
    servers: (names) => {
      const found = serversOf(selector)(names);
      [server] = found ?? [];
      if (found === undefined) throwIfMistyped(selector, names, command);
      return found;
    },
  });
  return { opened, tool: await requireTool(shell, opened, { server, selector, command }) };
}

/** Brings up the server of a tool (all servers, if it is not known whose it is) and finds the tool. */
export async function requireTool(
  shell: Shell,
  opened: OpenedPort,
  { server, selector, command }: { server: string | undefined; selector: string; command: string },
): Promise<ToolInfo> {
  if (server === undefined) await connectServers(shell, opened);
  else await requireServer(shell, opened, server);
  const tools = await opened.toolport.tools({ all: true, signal: shell.signal });
  const tool = findTool(tools, selector);
  if (tool !== undefined) return tool;
  throw (server !== undefined && withheld(opened, server, selector)) || missing(tools, selector, command);
}

/** By `server.tool`, by its public name, or by its bare name if only one tool has it. */
function findTool(tools: readonly ToolInfo[], selector: string): ToolInfo | undefined {
  const exact = tools.find(
    (tool) => `${tool.server}.${tool.sourceName}` === selector || tool.name === selector,
  );
  if (exact !== undefined) return exact;
  const bare = tools.filter((tool) => tool.sourceName === selector);
  return bare.length === 1 ? bare[0] : undefined;
}

/** A typing slip in a server's name must not start every server there is. */
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
