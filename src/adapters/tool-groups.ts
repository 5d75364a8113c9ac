/** Groups deferred tools for providers that show a model only the name and the description of a group. */
import { toAsciiName } from "../catalog/safety/look-alikes.js";
import { ToolportError } from "../errors/toolport-error.js";
import type { ToolInfo } from "../model/tool-info.js";
import { pushTo } from "../util/collections.js";
import { oncePerObject } from "../util/concurrency.js";
import { cutText } from "../util/text.js";
import { sanitiseText } from "../util/visible-text.js";
import type { ToolSource } from "./tool-source.js";

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
/** A word that fewer tools share gets no group of its own. */
const MIN_SHARED = 3;
/** Names with more words than this are split no further. */
const MAX_WORDS = 6;
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
    const named = ofServer.map((tool) => ({ tool, words: wordsOf(tool) }));
    const parts = split(named, [], 0);
    return parts.map((part) => ({
      name: uniqueName([server, ...part.words], taken),
      description: describe(part, { server, about: about.get(server) ?? "", isOnly: parts.length === 1 }),
      tools: part.tools,
    }));
  });
}

interface NamedTool {
  readonly tool: ToolInfo;
  readonly words: readonly string[];
}

interface Part {
  /** The words that the names of these tools have in common, after those that all tools of the server share. */
  readonly words: readonly string[];
  readonly tools: readonly ToolInfo[];
  /** The rest of each name. */
  readonly labels: readonly string[];
}

function split(named: readonly NamedTool[], common: readonly string[], depth: number): Part[] {
  if (named.length <= MAX_TOOLS || depth >= MAX_WORDS) return chunks(named, common, depth);
  const byWord = new Map<string, NamedTool[]>();
  for (const one of named) pushTo(byWord, one.words[depth] ?? "", one);
  const groups = [...byWord];
  // A word that all of them begin with, often the name of the server, separates nothing.
  if (groups.length === 1 && groups[0]![0] !== "") return split(named, common, depth + 1);
  const isShared = ([word, { length }]: [string, NamedTool[]]) => word !== "" && length >= MIN_SHARED;
  const rest = groups.filter((group) => !isShared(group)).flatMap(([, alone]) => alone);
  return [
    ...groups.filter(isShared).flatMap(([word, same]) => split(same, [...common, word], depth + 1)),
    ...chunks(rest, common, depth),
  ];
}

/** Parts of about the same size. */
function chunks(named: readonly NamedTool[], words: readonly string[], depth: number): Part[] {
  const size = Math.ceil(named.length / Math.ceil(named.length / MAX_TOOLS));
  const parts: Part[] = [];
  for (let start = 0; start < named.length; start += size) {
    const some = named.slice(start, start + size);
    parts.push({
      words,
      tools: some.map(({ tool }) => tool),
      labels: some.map(({ tool, words: all }) => all.slice(depth).join("_") || shownName(tool)),
    });
  }
  return parts;
}

/** `getUserById` → get, user, by, id. */
const wordsOf = ({ sourceName }: ToolInfo): string[] =>
  toAsciiName(sourceName.slice(0, 256))
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[_-]+/)
    .filter((word) => word !== "");

function describe(
  { words, labels }: Part,
  { server, about, isOnly }: { server: string; about: string; isOnly: boolean },
): string {
  if (isOnly && about !== "") return about;
  const named = cutText(labels.join(", "), MAX_DESCRIPTION);
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
      const isReady = states[server]?.state === "ready";
      descriptions.set(server, isReady ? firstSentence(await instructionsOf(toolport, server)) : "");
    }),
  );
  return descriptions;
}

async function instructionsOf(toolport: ToolSource, server: string): Promise<string> {
  try {
    const section = (await toolport.instructions?.({ servers: [server] })) ?? "";
    return section.slice(section.indexOf("\n") + 1);
  } catch (error) {
    // The server was removed in the meantime.
    if (ToolportError.isInstance(error)) return "";
    throw error;
  }
}

function firstSentence(text: string): string {
  const line = text.split("\n").find((candidate) => /[\p{L}\p{N}]/u.test(candidate)) ?? "";
  const plain = line.replace(/^[#>*\-\s]+/, "").trim();
  const end = /[.!?](?=\s|$)/.exec(plain);
  return cutText(end === null ? plain : plain.slice(0, end.index + 1), MAX_DESCRIPTION);
}
