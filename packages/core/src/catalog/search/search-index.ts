/** Full-text search for tools: BM25 over an inverted index, with different weights for the fields of a tool. Loaded with the first search: most programs show all tools. */
import { cutText, pushTo, type ToolInfo, tidyText } from "@toolport/base";
import { compactSchema } from "@toolport/schemas/internal";

/** A match. Scores are comparable within one search only. */
export interface SearchMatch {
  readonly tool: ToolInfo;
  readonly score: number;
  /** Whether the query contains the exact name of the tool. */
  readonly isNamed: boolean;
}

export interface SearchIndex {
  /**
   * The best matches, best first; equal ones by name. Tools whose exact name stands in the query come before all others.
   * @param options.limit how many at most, except tools that the query names; default 10
   */
  search(query: string, options?: { limit?: number | undefined }): SearchMatch[];
}

/** A field: its weight, and its usual number of words. */
interface Field {
  readonly weight: number;
  readonly usualLength: number;
  readonly maxCharacters: number;
}

const NAME: Field = { weight: 5, usualLength: 4, maxCharacters: 256 };
const TITLE: Field = { weight: 4, usualLength: 4, maxCharacters: 256 };
const SERVER: Field = { weight: 2, usualLength: 2, maxCharacters: 256 };
const DESCRIPTION: Field = { weight: 2, usualLength: 20, maxCharacters: 4_000 };
const PARAMETER: Field = { weight: 1, usualLength: 8, maxCharacters: 2_000 };
const PARAMETER_TEXT: Field = { weight: 0.5, usualLength: 30, maxCharacters: 4_000 };

/** The usual parameters of BM25: saturation of repetitions, and normalisation by length. */
const K1 = 1.2;
const B = 0.6;
/** Weight of a prefix match. */
const PREFIX_WEIGHT = 0.5;
const MIN_PREFIX = 3;
const MAX_PREFIX_WORDS = 64;
const MAX_QUERY_CHARACTERS = 1_000;
const MAX_QUERY_WORDS = 32;
/** Bonus for an exact name in the query: more than all words of a query can add up to. */
const EXACT_NAME_BONUS = 10_000;
const DEFAULT_LIMIT = 10;
/** How many tools that the query names are found whatever the limit is: hundreds of servers may have a tool of the same name. */
const MAX_NAMED = 50;
const MAX_PARAMETERS = 200;

const STOP_TEXT =
  "a an and are as at be by can do for from how i in is it me my of on or please that the this to use want what which with you";
let stopWords: ReadonlySet<string> | undefined;

/** Stop words; stemmed at the first search, because stemming is slow the first time. */
function isStopWord(word: string): boolean {
  stopWords ??= new Set(searchWords(STOP_TEXT));
  return stopWords.has(word);
}

interface Postings {
  readonly tools: number[];
  readonly weights: number[];
}

/** Builds the index of one snapshot in linear time. */
export function createSearchIndex(tools: readonly ToolInfo[]): SearchIndex {
  const postings = new Map<string, Postings>();
  const cut = createWordCutter();
  for (const [index, tool] of tools.entries()) {
    for (const [word, weight] of weighWords(tool, cut)) {
      const list = postings.get(word) ?? { tools: [], weights: [] };
      if (list.tools.length === 0) postings.set(word, list);
      list.tools.push(index);
      list.weights.push(weight);
    }
  }
  const namedIn = createNameIndex(tools, (word) => isStopWord(stem(word)));
  /** Zero between two searches. */
  const given = new Float64Array(tools.length);
  let vocabulary: readonly string[] | undefined;
  const wordsLike = (prefix: string): string[] => {
    if (prefix.length < MIN_PREFIX) return [];
    vocabulary ??= [...postings.keys()].sort();
    return withPrefix(vocabulary, prefix);
  };

  return {
    search(query, { limit = DEFAULT_LIMIT } = {}) {
      const asked = query.slice(0, MAX_QUERY_CHARACTERS);
      const scores = new Float64Array(tools.length);
      for (const word of queryWords(asked))
        addScores(scores, word, { postings, words: [word, ...wordsLike(word)], given });
      const named = namedIn(query);
      for (const index of named) scores[index]! += EXACT_NAME_BONUS;
      const size = Number.isNaN(limit) ? DEFAULT_LIMIT : Math.max(0, Math.floor(limit));
      return best(scores, tools, size === 0 ? 0 : Math.max(size, Math.min(named.size, MAX_NAMED)));
    },
  };
}

/** The score of one query word for each tool: the best of the matching words, not their sum. */
function addScores(
  scores: Float64Array,
  asked: string,
  {
    postings,
    words,
    given,
  }: { postings: ReadonlyMap<string, Postings>; words: readonly string[]; given: Float64Array },
): void {
  const lists = words.flatMap((word) => {
    const list = postings.get(word);
    return list === undefined ? [] : [{ word, list }];
  });
  for (const { word, list } of lists) {
    const rarity = Math.log(1 + (scores.length - list.tools.length + 0.5) / (list.tools.length + 0.5));
    const factor = rarity * (word === asked ? 1 : PREFIX_WEIGHT * (asked.length / word.length));
    for (let at = 0; at < list.tools.length; at += 1) {
      const weight = list.weights[at]!;
      const score = (factor * weight * (K1 + 1)) / (weight + K1);
      const index = list.tools[at]!;
      const before = given[index]!;
      if (score <= before) continue;
      scores[index]! += score - before;
      // With a single word, nothing can be counted twice.
      if (lists.length > 1) given[index] = score;
    }
  }
  if (lists.length > 1) for (const { list } of lists) for (const index of list.tools) given[index] = 0;
}

function queryWords(query: string): string[] {
  const words = [...new Set(searchWords(query))].slice(0, MAX_QUERY_WORDS);
  const telling = words.filter((word) => !isStopWord(word));
  return telling.length > 0 ? telling : words;
}

/** The weight of every word of a tool, over all fields, before BM25. */
function weighWords(tool: ToolInfo, cut: (text: string) => string[]): Map<string, number> {
  const weights = new Map<string, number>();
  const add = ({ weight, usualLength, maxCharacters }: Field, text: string | undefined): void => {
    if (typeof text !== "string" || text === "") return;
    const words = cut(text.slice(0, maxCharacters));
    const share = weight / (1 - B + B * (words.length / usualLength));
    for (const word of words) weights.set(word, (weights.get(word) ?? 0) + share);
  };
  add(NAME, tool.sourceName);
  // A name from a mapper has its own words; a default name only repeats server and tool.
  if (!tool.name.includes(tool.sourceName)) add(NAME, tool.name);
  add(SERVER, tool.server);
  add(TITLE, tool.title ?? tool.annotations?.title);
  add(DESCRIPTION, tool.description);
  const { names, texts } = parameters(tool.inputSchema);
  add(PARAMETER, names.join(" "));
  add(PARAMETER_TEXT, texts.join(" "));
  return weights;
}

function parameters(schema: Readonly<Record<string, unknown>>): { names: string[]; texts: string[] } {
  const { properties } = schema;
  if (typeof properties !== "object" || properties === null) return { names: [], texts: [] };
  const entries = Object.entries(properties).slice(0, MAX_PARAMETERS);
  const texts = entries.flatMap(([, parameter]: [string, unknown]) => {
    const description =
      typeof parameter === "object" &&
      parameter !== null &&
      "description" in parameter &&
      parameter.description;
    return typeof description === "string" ? [description] : [];
  });
  return { names: entries.map(([name]) => name), texts };
}

/** The longer words with this prefix, found by binary search. */
function withPrefix(sorted: readonly string[], prefix: string): string[] {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < prefix) low = middle + 1;
    else high = middle;
  }
  const found: string[] = [];
  for (; found.length < MAX_PREFIX_WORDS && sorted[low]?.startsWith(prefix); low += 1) {
    if (sorted[low] !== prefix) found.push(sorted[low]!);
  }
  return found;
}

/** The first matches, with all that the query names. For matches that were filtered after the search. */
export function firstMatches(matches: readonly SearchMatch[], limit: number): SearchMatch[] {
  const named = matches.filter(({ isNamed }) => isNamed).length;
  return matches.slice(0, Math.max(limit, Math.min(named, MAX_NAMED)));
}

function best(scores: Float64Array, tools: readonly ToolInfo[], size: number): SearchMatch[] {
  if (size === 0) return [];
  const byScore = (a: SearchMatch, b: SearchMatch): number =>
    b.score - a.score || (a.tool.name < b.tool.name ? -1 : a.tool.name > b.tool.name ? 1 : 0);
  let matches: SearchMatch[] = [];
  /** The lowest score among the best so far; lower ones are skipped. */
  let last: SearchMatch | undefined;
  for (let index = 0; index < scores.length; index += 1) {
    const score = scores[index]!;
    if (score <= 0 || (last !== undefined && score < last.score)) continue;
    const match = { tool: tools[index]!, score, isNamed: score >= EXACT_NAME_BONUS };
    if (last !== undefined && byScore(last, match) < 0) continue;
    matches.push(match);
    // Avoids sorting 100,000 matches: only those that can still be among the best.
    if (matches.length < size * 2 + 100) continue;
    matches = matches.sort(byScore).slice(0, size);
    last = matches[size - 1];
  }
  return matches.sort(byScore).slice(0, size);
}

/** Maximum size of the definitions of tools that the query names; more would defeat the purpose. */
const MAX_NAMED_CHARACTERS = 32_000;
/** Maximum size with the definitions of other matches: about 1,200 tokens. */
const MAX_ANSWER_CHARACTERS = 5_000;
const MAX_SHORT_DESCRIPTION = 200;

/**
 * The result of `search_tools` as compact JSON. The best match is always complete, and so are tools that the query names, within a
 * generous limit. Other matches are complete while the answer is short; the rest are only named.
 */
export function searchAnswer(matches: readonly SearchMatch[]): string {
  if (matches.length === 0) return JSON.stringify({ tools: [], hint: "Nothing found. Try other words." });
  let size = 0;
  let shortened = false;
  const tools = matches.map(({ tool, isNamed }, index) => {
    const whole = wholeDefinition(tool);
    const limit = isNamed ? MAX_NAMED_CHARACTERS : MAX_ANSWER_CHARACTERS;
    const isWhole = index === 0 || size + whole.length <= limit;
    if (!isWhole) shortened = true;
    const text = isWhole ? whole : shortDefinition(tool);
    size += text.length;
    return text;
  });
  const hint = "Search for the exact names of tools to see their inputSchema.";
  return `{"tools":[${tools.join(",")}]${shortened ? `,"hint":${JSON.stringify(hint)}` : ""}}`;
}

/** Written shorter, with the same meaning: this text is for models only. */
function wholeDefinition({ name, title, description, inputSchema }: ToolInfo): string {
  return JSON.stringify({
    name,
    title,
    description: description && tidyText(description),
    inputSchema: compactSchema(inputSchema, { dropsTypes: true, typeLists: true }),
  });
}

function shortDefinition({ name, title, description }: ToolInfo): string {
  const short = description && cutText(tidyText(description).replace(/\s+/g, " "), MAX_SHORT_DESCRIPTION);
  return JSON.stringify({ name, title, description: short });
}

/** Many long names may stand in one query; only names are looked for beyond the length of a usual query. */
const MAX_NAMING_CHARACTERS = 8_000;
const MAX_NAME_WORD = 512;
const SEPARATORS = /[\s,;|()[\]{}"'`<>]+/;
/** Separators inside words that are no names themselves, as in `create_issue/list_issues` or `name=create_issue`. */
const INNER_SEPARATORS = /[/:=.!?&+]+/;
const QUOTED = /["'`]([^"'`]+)["'`]/g;
/** One word of a language, such as `search` or `Fetch`. */
const PLAIN_WORD = /^(?:\p{Lu}?[\p{Ll}\p{Lo}\p{M}]+|\p{Lu}+)$/u;

/**
 * A function that finds the positions of the tools that a query names, in any case.
 *
 * @param isStopWord for words that may stand between names without being a part of the question
 */
function createNameIndex(
  tools: readonly ToolInfo[],
  isStopWord: (word: string) => boolean,
): (query: string) => ReadonlySet<number> {
  const byName = new Map<string, number[]>();
  for (const [index, { name, sourceName }] of tools.entries()) {
    for (const key of new Set([name.toLowerCase(), sourceName.toLowerCase()])) pushTo(byName, key, index);
  }
  /** A name such as `search` is a usual word of questions too. */
  const isPlain = (key: string): boolean =>
    byName.get(key)!.every((index) => {
      const { name, sourceName } = tools[index]!;
      return PLAIN_WORD.test(key === name.toLowerCase() ? name : sourceName);
    });

  const keysOf = (word: string): string[] => {
    if (word.length > MAX_NAME_WORD) return [word];
    const bare = word.replace(/^[.:!?]+|[.:!?]+$/g, "");
    const whole = [word, bare].find((key) => byName.has(key));
    return whole === undefined ? bare.split(INNER_SEPARATORS).filter((part) => part !== "") : [whole];
  };

  return (query) => {
    const text = query.slice(0, MAX_NAMING_CHARACTERS).toLowerCase().trim();
    const words = text.split(SEPARATORS).flatMap(keysOf);
    const isList = words.every((word) => byName.has(word) || isStopWord(word));
    const isMeant = (key: string): boolean => byName.has(key) && (isList || !isPlain(key));
    const quoted = [...text.matchAll(QUOTED)].map(([, name]) => name!.trim());
    // Names with spaces are found between commas, in quotation marks and as the whole query.
    const between = text.split(/[,;\n]/).map((part) => part.trim());
    const keys = [
      ...[text, ...quoted].filter((key) => byName.has(key)),
      ...[...between, ...words].filter(isMeant),
    ];
    return new Set(keys.flatMap((key) => byName.get(key)!));
  };
}

const MAX_WORD = 64;
/** Maximum size of the cache. */
const MAX_KNOWN = 50_000;
/** Scripts without spaces: every character is a word, and so is every pair. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;
const ASCII = /^[\0-\x7f]*$/;

/**
 * A light stemmer: maps singular and plural, create, created and creating to the same text, which need not be a word.
 */
export function stem(word: string): string {
  let root = word;
  if (root.length > 4 && root.endsWith("ies")) root = `${root.slice(0, -3)}y`;
  else if (root.length > 3 && root.endsWith("s") && !/(?:ss|us|is)$/.test(root)) root = root.slice(0, -1);
  if (root.length > 5 && root.endsWith("ing")) root = undouble(root.slice(0, -3));
  else if (root.length > 4 && root.endsWith("ed")) root = undouble(root.slice(0, -2));
  return root.length > 3 && root.endsWith("e") ? root.slice(0, -1) : root;
}

const undouble = (root: string): string => (/([bdgmnprt])\1$/.test(root) ? root.slice(0, -1) : root);

/** The words of a text, stemmed, in order, with repetitions. A joined word gives its parts and itself. */
export function searchWords(text: string): string[] {
  return createWordCutter()(text);
}

/** {@link searchWords} for many texts, with a cache of words. */
function createWordCutter(): (text: string) => string[] {
  const known = new Map<string, readonly string[]>();
  return (text) => {
    const isAscii = ASCII.test(text);
    const runs = isAscii ? text.match(/[a-zA-Z0-9]+/g) : text.normalize("NFKC").match(/[\p{L}\p{M}\p{N}]+/gu);
    const words: string[] = [];
    for (const run of runs ?? []) {
      let cut = known.get(run);
      if (cut === undefined) {
        cut = UNSPACED.test(run) ? cutUnspaced(run) : cutSpaced(run);
        if (known.size < MAX_KNOWN) known.set(run, cut);
      }
      for (const word of cut) words.push(word);
    }
    return words;
  };
}

function cutSpaced(run: string): string[] {
  const parts = run.match(/\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{M}]+|\p{Lu}+|\p{N}+/gu) ?? [run];
  return (parts.length > 1 ? [run, ...parts] : [run]).map(toWord);
}

function cutUnspaced(run: string): string[] {
  const words: string[] = [];
  const characters = [...run.toLowerCase()];
  for (const [index, character] of characters.entries()) {
    words.push(character);
    const next = characters[index + 1];
    if (next !== undefined) words.push(character + next);
  }
  return words;
}

const toWord = (run: string): string => stem(run.slice(0, MAX_WORD).toLowerCase());
