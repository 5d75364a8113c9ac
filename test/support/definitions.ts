/** The tools of 20 real servers, as scripts/collect-schemas.mjs stored them. */
import { readdirSync, readFileSync } from "node:fs";
import type { ToolInfo } from "../../packages/base/src/model/tool-info.js";

interface CollectedTool extends Pick<ToolInfo, "title" | "description" | "inputSchema" | "annotations"> {
  readonly name: string;
  /** o200k tokens of the compact JSON of name, description and input schema. */
  readonly tokens: number;
}

export interface CollectedServer {
  /** Package and version. */
  readonly server: string;
  readonly tools: readonly CollectedTool[];
}

const folder = new URL("../fixtures/definitions/", import.meta.url);

/** By short names, such as `playwright`. */
export const collectedServers: Readonly<Record<string, CollectedServer>> = Object.fromEntries(
  readdirSync(folder).map((file) => [
    file.replace(/\.json$/, ""),
    JSON.parse(readFileSync(new URL(file, folder), "utf8")) as CollectedServer,
  ]),
);

/** All tools as a port lists them; names may be longer than a provider allows. */
export const collectedTools: readonly (ToolInfo & { readonly tokens: number })[] = Object.entries(
  collectedServers,
).flatMap(([server, { tools }]) =>
  tools.map((tool) => ({ ...tool, server, sourceName: tool.name, name: `${server}__${tool.name}` })),
);
