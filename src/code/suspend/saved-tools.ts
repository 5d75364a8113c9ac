/** The tools of a suspended program: their names in it, and the definitions that it was written for. */
import { canonicalJson } from "../../catalog/safety/canonical-json.js";
import { CatalogError } from "../../errors/catalog-error.js";
import type { ToolInfo } from "../../model/tool-info.js";
import { sha256 } from "../../util/sha256.js";
import type { ProgramApi } from "../program-api.js";
import type { ProgramRecord, SavedTool } from "./program-record.js";

/** Public names and definitions of all tools of a program. */
export async function savedTools({ servers }: ProgramApi): Promise<ProgramRecord["tools"]> {
  const entries = servers.map(async ({ member, tools }) => {
    const own = tools.map(async (each): Promise<[string, SavedTool]> => {
      const { name } = each.tool;
      return [each.member, { name, hash: await definitionHash(each.tool) }];
    });
    return [member, Object.fromEntries(await Promise.all(own))] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** What the model knew of the tool when it wrote the program. */
export const definitionHash = ({
  name,
  server,
  sourceName,
  description,
  inputSchema,
  outputSchema,
}: ToolInfo) => sha256(canonicalJson({ name, server, sourceName, description, inputSchema, outputSchema }));

/** The names that the program knows, whatever the catalog has now. A tool that is gone is undefined. */
export function savedApi(api: ProgramApi, saved: ProgramRecord["tools"]): ProgramApi {
  const nameOf = (server: string, tool: string): string | undefined =>
    Object.hasOwn(saved, server) && Object.hasOwn(saved[server]!, tool)
      ? saved[server]![tool]!.name
      : undefined;
  return {
    ...api,
    members: Object.fromEntries(Object.entries(saved).map(([server, tools]) => [server, Object.keys(tools)])),
    toolOf: (server, tool) => {
      const name = nameOf(server, tool);
      return name === undefined ? undefined : api.toolNamed(name);
    },
  };
}

export const changedTool = (tool: string): CatalogError =>
  new CatalogError({
    tool,
    code: "TOOL_CHANGED",
    what: "The definition of the tool has changed since the program was suspended",
    next: "Review the new definition and run the program again",
    outcome: "unsent",
  });
