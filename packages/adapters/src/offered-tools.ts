/** The tools that are offered to a model, each with a schema that the provider of the model accepts. */

import {
  ConfigError,
  type ConfigIssue,
  cutText,
  firstSentence,
  oncePerObject,
  pushTo,
  sanitiseText,
  type ToolInfo,
  ToolportError,
  toAsciiName,
} from "@toolport/base";
import type { ToolsOptions } from "@toolport/core";
import { CALL_TOOL_NAME, deferredTools, SEARCH_TOOLS_NAME } from "@toolport/core/internal";
import type { SchemaChange, SchemaTarget } from "@toolport/schemas";
import { descriptionChange, OfferedTool, readCompact, type WithCompact } from "@toolport/schemas/internal";
import { type WithForModel, withReader } from "./for-model.js";
import type { ToolSource } from "./tool-source.js";

/** Which tools a model sees and may call. */
export interface ToolSelection extends Pick<ToolsOptions, "only" | "except" | "filter"> {
  /** Only the tools of these servers. @default all */
  readonly servers?: readonly string[] | undefined;
}

/** How the schema of one tool was changed for a provider. */
export interface SchemaReport {
  /** The tool's public name. */
  readonly tool: string;
  readonly server: string;
  readonly target: SchemaTarget;
  readonly changes: readonly SchemaChange[];
  /** False if strict mode was requested but cannot express the schema. */
  readonly strict: boolean;
}

/** Called for every tool whose schema had to be changed, or could not be made strict. */
export type OnSchemaChange = (report: SchemaReport) => void;

/** The options of all functions that return tools for a request: which tools, and how their schemas are changed. */
export interface OfferOptions extends ToolSelection, WithCompact, WithForModel {
  /** Called for every schema that had to be changed. */
  readonly onChange?: OnSchemaChange | undefined;
}

/** The tools that a model may call, or those that `deferTools` hides and a search finds. */
export const selectedTools = (
  toolport: ToolSource,
  { servers, only, except, filter, signal }: ToolSelection & { readonly signal?: AbortSignal | undefined },
  deferred = false,
): Promise<ToolInfo[]> =>
  toolport.tools({
    ...(servers && { servers }),
    ...(signal && { signal }),
    only,
    except,
    filter,
    deferred,
  });

/**
 * Lists the tools, or those that `deferTools` hides. Their schemas are derived when they are used, or at once if there is an
 * `onChange` to call.
 */
export async function offeredTools(
  toolport: ToolSource,
  options: OfferOptions,
  target: SchemaTarget,
  deferred = false,
): Promise<OfferedTool[]> {
  const { onChange } = options;
  const steps = readCompact(options.compact);
  const listed = await selectedTools(toolport, options, deferred);
  // The list of hidden tools is never shown alone.
  const tools = deferred ? listed : withReader(toolport, listed, options);
  const offered = tools.map((tool) => new OfferedTool(tool, target, steps));
  if (onChange === undefined) return offered;
  const isStrict = target.endsWith("-strict");
  for (const { tool, derived, description } of offered) {
    const { strict } = derived;
    const change = descriptionChange(tool.description, description);
    const changes = change === undefined ? derived.changes : [...derived.changes, change];
    if (changes.length > 0 || (isStrict && !strict))
      onChange({ tool: tool.name, server: tool.server, target, changes, strict });
  }
  return offered;
}

/** How a model finds the tools that `deferTools` hides. */
export type DeferredTools = (typeof DEFERRED_TOOLS)[number];

/** The search for deferred tools, which a model then calls by their names. */
export const searchDefinition = (servers: readonly string[]): SearchDefinition =>
  deferredTools(servers, "then call what you find by its name")[0];

export type SearchDefinition = ReturnType<typeof deferredTools>[0];

const DEFERRED_TOOLS = ["native", "client", "own"] as const;

export interface DeferredOptions {
  /**
   * How a model finds the tools that `deferTools` hides. `"native"`: the provider searches and loads them. `"client"`: the provider asks
   * Toolport to search, and loads what it finds. `"own"`: the tools `search_tools` and `call_tool`, which work with every model.
   * No effect unless `deferTools` or `defer` of a server hides tools. See docs/context.md.
   * @default "own"
   */
  readonly deferred?: DeferredTools | undefined;
}

/** The callers that may use a tool: the same for all tools, or chosen for each; undefined: only the model. */
export type AllowedCallers<Caller extends string> =
  | readonly Caller[]
  | ((tool: ToolInfo) => readonly Caller[] | undefined);

/** The tools of a request, before they get the format of a provider. */
export interface DeferredOffer {
  /** Defined from the start. */
  readonly shown: readonly OfferedTool[];
  /** Loaded by a search. */
  readonly hidden: readonly OfferedTool[];
  /** The search that Toolport answers. */
  readonly search: SearchDefinition | undefined;
}

/** Lists the tools for a request. `search_tools` and `call_tool` are left out if the provider has a search. */
export async function offerTools(
  toolport: ToolSource,
  options: OfferOptions & DeferredOptions,
  target: SchemaTarget,
): Promise<DeferredOffer> {
  const { deferred = "own" } = options;
  checkDeferred(deferred, DEFERRED_TOOLS);
  const all = await offeredTools(toolport, options, target);
  if (deferred === "own") return { shown: all, hidden: [], search: undefined };
  const hidden = await offeredTools(toolport, options, target, true);
  const servers = [...new Set(hidden.map(({ tool }) => tool.server))];
  const isSearched = deferred === "client" && hidden.length > 0;
  return {
    shown: withoutSearch(all, hidden, ({ tool }) => tool.name),
    hidden,
    search: isSearched ? searchDefinition(servers) : undefined,
  };
}

/** The tools that a model sees from the start, without Toolport's own search. */
export function withoutSearch<Tool>(
  all: readonly Tool[],
  hidden: readonly Tool[],
  nameOf: (tool: Tool) => string,
): Tool[] {
  // The two lists are requested one after the other. A tool that was deferred in between must not be offered twice.
  const left = new Set([SEARCH_TOOLS_NAME, CALL_TOOL_NAME, ...hidden.map(nameOf)]);
  return all.filter((tool) => !left.has(nameOf(tool)));
}

/** @throws ConfigError if `deferred` is not one of the values that an adapter knows */
export function checkDeferred(deferred: string, names: readonly string[]): void {
  if (names.includes(deferred)) return;
  throw wrongOptions({ path: "deferred", message: `must be one of ${names.join(", ")}` });
}

/** The callers of one tool; undefined if the option does not say. */
export function callersOf<Caller extends string>(
  tool: ToolInfo,
  allowed: AllowedCallers<Caller> | undefined,
): Caller[] | undefined {
  // A search finds tools for the model, so no program has a use for it.
  if (allowed === undefined || tool.name === SEARCH_TOOLS_NAME) return undefined;
  const callers: unknown = typeof allowed === "function" ? allowed(tool) : allowed;
  if (callers === undefined) return undefined;
  const isName = (name: unknown) => typeof name === "string" && name !== "";
  if (Array.isArray(callers) && callers.length > 0 && callers.every(isName)) return [...callers];
  const message = `must name at least one caller for the tool ${tool.name}, or none`;
  throw wrongOptions({ path: "allowedCallers", message });
}

export const wrongOptions = (...issues: readonly ConfigIssue[]): ConfigError =>
  new ConfigError({ code: "INVALID_CONFIG", issues, next: "Correct the options named above" });

/** Some tools of one server. */
export interface ToolGroup {
  /** Unique, in the characters that every provider accepts. */
  readonly name: string;
  /** What a model reads before it loads the tools. */
  readonly description: string;
  readonly tools: readonly ToolInfo[];
}

/** OpenAI advises fewer than 10 functions: https://platform.openai.com/docs/guides/tools-tool-search */
const MAX_TOOLS = 9;
const MAX_NAME = 64;
const MAX_DESCRIPTION = 160;
const MAX_SHOWN_NAME = 64;
/** A server with many groups repeats its description in each of them. */
const MAX_REPEATED = 60;

/**
 * One group for each server; a server with 10 or more tools is split by the first words of their names. Connects no server: the
 * description is the first sentence of the instructions if the server is connected, else the names of the tools.
 */
export async function groupTools(toolport: ToolSource, tools: readonly ToolInfo[]): Promise<ToolGroup[]> {
  const byServer = new Map<string, ToolInfo[]>();
  for (const tool of tools) pushTo(byServer, tool.server, tool);
  const about = await aboutServers(toolport, [...byServer.keys()]);
  const taken = new Set(tools.map(({ name }) => name));
  return [...byServer].flatMap(([server, ofServer]) => {
    const parts = groupByWords(ofServer, ({ sourceName }) => sourceName, MAX_TOOLS);
    return parts.map((part) => ({
      name: uniqueName([server, ...part.words], taken),
      description: describe(part, { server, about: about.get(server) ?? "", isOnly: parts.length === 1 }),
      tools: part.items,
    }));
  });
}

function describe(
  { words, items, labels }: WordGroup<ToolInfo>,
  { server, about, isOnly }: { server: string; about: string; isOnly: boolean },
): string {
  if (isOnly && about !== "") return about;
  const named = cutText(
    labels.map((label, at) => label || shownName(items[at]!)).join(", "),
    MAX_DESCRIPTION,
  );
  const which = words.length > 0 ? `${cutText(words.join(" "), MAX_REPEATED)}: ${named}` : named;
  if (about !== "") return `${cutText(about, MAX_REPEATED)} (${which})`;
  return `${server}${words.length > 0 ? " " : ": "}${which}`;
}

/** The name on the server, which may contain anything. */
const shownName = ({ sourceName }: ToolInfo): string =>
  cutText(sanitiseText(sourceName.slice(0, 256)).text.replace(/\s+/g, " ").trim(), MAX_SHOWN_NAME);

/** A name in the characters of OpenAI's namespaces that no tool and no other group has. */
function uniqueName(parts: readonly string[], taken: Set<string>): string {
  const plain = parts.map((part) => toAsciiName(part.slice(0, 256)) || "tools").join("_");
  let name = plain.slice(0, MAX_NAME);
  for (let copy = 2; taken.has(name); copy += 1) name = `${plain.slice(0, MAX_NAME - 5)}_${copy}`;
  taken.add(name);
  return name;
}

/** The descriptions that were used first: a change would invalidate the prompt cache in the middle of a conversation. */
const descriptionsOf = oncePerObject((_source: ToolSource) => new Map<string, string>());

/** The first sentence of the instructions of every connected server, sanitised and scanned; others get an empty text. */
async function aboutServers(
  toolport: ToolSource,
  servers: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const descriptions = descriptionsOf(toolport);
  const others = servers.filter((server) => !descriptions.has(server));
  if (others.length === 0) return descriptions;
  const { servers: states = {} } = toolport.snapshot?.() ?? {};
  await Promise.all(
    others.map(async (server) => {
      if (states[server]?.state !== "ready") return void descriptions.set(server, "");
      const section = await toolport.instructions?.({ servers: [server] }).catch((error: unknown) => {
        // The server was removed in the meantime.
        if (!ToolportError.isInstance(error)) throw error;
      });
      const text = section?.slice(section.indexOf("\n") + 1) ?? "";
      descriptions.set(server, firstSentence(text, MAX_DESCRIPTION));
    }),
  );
  return descriptions;
}

/** A word that fewer names share gets no group of its own. */
const MIN_SHARED = 3;
/** Names with more words than this are split no further. */
const MAX_WORDS = 6;

interface Named<Item> {
  readonly item: Item;
  readonly words: readonly string[];
}

interface WordGroup<Item> {
  /** The words that these names have in common, after those that all names share. */
  readonly words: readonly string[];
  readonly items: readonly Item[];
  /** The rest of each name; may be empty. */
  readonly labels: readonly string[];
}

/** One group if there are at most `most` items. */
const groupByWords = <Item>(
  items: readonly Item[],
  nameOf: (item: Item) => string,
  most: number,
): WordGroup<Item>[] =>
  split(
    items.map((item) => ({ item, words: wordsOf(nameOf(item)) })),
    { most, common: [], depth: 0 },
  );

interface Place {
  readonly most: number;
  readonly common: readonly string[];
  readonly depth: number;
}

function split<Item>(named: readonly Named<Item>[], place: Place): WordGroup<Item>[] {
  const { most, common, depth } = place;
  if (named.length <= most || depth >= MAX_WORDS) return chunks(named, place);
  const byWord = new Map<string, Named<Item>[]>();
  for (const one of named) pushTo(byWord, one.words[depth] ?? "", one);
  const groups = [...byWord];
  // A word that all of them begin with, often the name of the server, separates nothing.
  if (groups.length === 1 && groups[0]![0] !== "") return split(named, { most, common, depth: depth + 1 });
  const isShared = ([word, { length }]: [string, unknown[]]) => word !== "" && length >= MIN_SHARED;
  const rest = groups.filter((group) => !isShared(group)).flatMap(([, alone]) => alone);
  return [
    ...groups
      .filter(isShared)
      .flatMap(([word, same]) => split(same, { most, common: [...common, word], depth: depth + 1 })),
    ...chunks(rest, place),
  ];
}

/** Groups of about the same size. */
function chunks<Item>(named: readonly Named<Item>[], { most, common, depth }: Place): WordGroup<Item>[] {
  const size = Math.ceil(named.length / Math.ceil(named.length / most));
  const groups: WordGroup<Item>[] = [];
  for (let start = 0; start < named.length; start += size) {
    const some = named.slice(start, start + size);
    groups.push({
      words: common,
      items: some.map(({ item }) => item),
      labels: some.map(({ words }) => words.slice(depth).join("_")),
    });
  }
  return groups;
}

/** `getUserById` → get, user, by, id. */
const wordsOf = (name: string): string[] =>
  toAsciiName(name.slice(0, 256))
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[_-]+/)
    .filter((word) => word !== "");
