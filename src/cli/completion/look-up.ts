/** Looks up names for completion in configuration files and saved lists. Asks, connects and starts nothing. */
import { PublicLists } from "../../catalog/public-lists.js";
import { isRecord } from "../../config/entry-reader.js";
import { parseServerEntry } from "../../config/parse-servers.js";
import { SavedCatalogs } from "../../port/saved/saved-catalogs.js";
import type { CommandContext } from "../command-context.js";
import { oneLine } from "../plain-text.js";
import { serversOf } from "../select-tool.js";
import { argumentCandidates, type Candidate, type LookUp } from "./complete-line.js";

const MAX_MEANING = 60;

export const createLookUp =
  (context: CommandContext): LookUp =>
  async (kind, words) => {
    const written = await context.readServers();
    const servers = [...written.servers].map(([value, { source }]) => ({ value, meaning: source.kind }));
    if (kind === "server") return servers;
    const all = [...written.servers.keys()];
    const [selector = ""] = words;
    const names =
      kind === "tool" ? all : kind === "argument" ? (serversOf(selector)(all) ?? []) : words.slice(0, 1);
    const { mcpServers } = (await context.loadServers(names, { mayAsk: false })).config;
    const configs = names.flatMap((name) =>
      Object.hasOwn(mcpServers, name) ? [parseServerEntry(name, mcpServers[name])] : [],
    );
    const { store } = await context.openStore();
    const parts = { store, principal: undefined, publicLists: new PublicLists(), warn() {} };
    const saved = await new SavedCatalogs(parts).restore(configs);
    if (kind === "resource") return Object.values(saved).flatMap(({ resources }) => named(resources, "uri"));
    if (kind === "prompt") return Object.values(saved).flatMap(({ prompts }) => named(prompts, "name"));
    if (kind === "argument") {
      const [server = ""] = names;
      const tool = saved[server]?.tools.find(
        (each) =>
          isRecord(each) && [".", "__"].some((mark) => `${server}${mark}${each["name"]}` === selector),
      );
      return argumentCandidates(isRecord(tool) ? tool["inputSchema"] : undefined, words.slice(1));
    }
    const tools = Object.entries(saved).flatMap(([server, lists]) =>
      named(lists.tools, "name").map(({ value, meaning }) => ({ value: `${server}.${value}`, meaning })),
    );
    const unknown = servers.filter(({ value }) => saved[value] === undefined);
    return [...tools, ...unknown.map(({ value, meaning }) => ({ value: `${value}.`, meaning }))];
  };

/** Saved entries are unvalidated. */
function named(list: readonly unknown[], key: "name" | "uri"): Candidate[] {
  return list.flatMap((item) => {
    const value = isRecord(item) ? item[key] : undefined;
    const meaning = isRecord(item) ? (item["title"] ?? item["description"]) : undefined;
    if (typeof value !== "string") return [];
    return [{ value, meaning: typeof meaning === "string" ? oneLine(meaning, MAX_MEANING) : "" }];
  });
}
