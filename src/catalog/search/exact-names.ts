/** Finds the names of tools that stand in a query: `create_issue, then github__list_issues`. */

import type { ToolInfo } from "../../model/tool-info.js";

/** Many long names may stand in one query; only names are looked for beyond the length of a usual query. */
const MAX_CHARACTERS = 8_000;
const MAX_WORD = 512;
const SEPARATORS = /[\s,;|()[\]{}"'`<>]+/;
/** Separators inside words that are no names themselves, as in `create_issue/list_issues` or `name=create_issue`. */
const INNER_SEPARATORS = /[/:=.!?&+]+/;
const QUOTED = /["'`]([^"'`]+)["'`]/g;
/** One word of a language, such as `search` or `Fetch`. */
const PLAIN_WORD = /^(?:\p{Lu}?[\p{Ll}\p{Lo}\p{M}]+|\p{Lu}+)$/u;

export interface NameIndex {
  /** The positions of the tools that the query names, in any case. */
  find(query: string): ReadonlySet<number>;
}

/** @param isStopWord for words that may stand between names without being a part of the question */
export function createNameIndex(
  tools: readonly ToolInfo[],
  isStopWord: (word: string) => boolean,
): NameIndex {
  const byName = new Map<string, number[]>();
  for (const [index, { name, sourceName }] of tools.entries()) {
    for (const key of new Set([name.toLowerCase(), sourceName.toLowerCase()])) {
      const same = byName.get(key);
      if (same === undefined) byName.set(key, [index]);
      else same.push(index);
    }
  }
  /** A name such as `search` is a usual word of questions too. */
  const isPlain = (key: string): boolean =>
    byName.get(key)!.every((index) => {
      const { name, sourceName } = tools[index]!;
      return PLAIN_WORD.test(key === name.toLowerCase() ? name : sourceName);
    });

  const keysOf = (word: string): string[] => {
    if (word.length > MAX_WORD) return [word];
    const bare = word.replace(/^[.:!?]+|[.:!?]+$/g, "");
    const whole = [word, bare].find((key) => byName.has(key));
    return whole === undefined ? bare.split(INNER_SEPARATORS).filter((part) => part !== "") : [whole];
  };

  return {
    find(query) {
      const text = query.slice(0, MAX_CHARACTERS).toLowerCase().trim();
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
    },
  };
}
