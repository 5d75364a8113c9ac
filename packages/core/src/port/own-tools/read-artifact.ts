/** Answers calls of `read_artifact`: finds the text, selects its parts, and says which part of the whole they are. */

import {
  describeCut,
  describeShape,
  endOfText,
  type Fields,
  fitOutline,
  nameOfParts,
  type Outline,
  outlineText,
  placeOf,
  shownRange,
  utf8Length,
  ValueFinder,
} from "@toolport/base";
import type { Artifacts, KeptArtifact } from "../../execution/artifacts/artifact-store.js";
import type { ToolResult } from "../../execution/tool-result.js";
import { textResult } from "./own-tools.js";

/** Largest answer, in bytes. */
const MAX_ANSWER = 20_000;
/** Of it, for the sentence about what is shown, and for fields of the whole. */
const NOTE_BYTES = 4_000;
/** Of a single part that is too large. */
const PREVIEW_BYTES = 4_000;
const MAX_INDEXES = 30;
/** How much JSON one request may read to find fields, in characters: about half a second. */
const MAX_READ = 100_000_000;
const TOO_MUCH = "That is too much to read at once: name fewer fields, or use from, count and find.";

export function readArtifact(artifacts: Artifacts, args: Fields): ToolResult {
  const request = readArtifactArguments(args);
  if ("problem" in request) return textResult(request.problem, true);
  const artifact = artifacts.get(request.id);
  if (artifact === undefined) {
    const id = JSON.stringify(request.id.slice(0, 100));
    const what = `There is no artifact ${id}: it has expired, or the id is wrong. Call the tool that returned it again.`;
    return textResult(what, true);
  }
  const outline = outlineText(artifact.text);
  const [, many] = nameOfParts(outline);
  if (request.from >= outline.count) {
    const what = `from is ${request.from}, but there are ${outline.count} ${many}${placeOf(outline)}, counted from 0.`;
    return textResult(what, true);
  }
  const answering = new ArtifactAnswer(artifacts, artifact, outline, request);
  if (request.fields === undefined || outline.unit !== "lines") return answering.build();
  if (outline.json === undefined)
    return textResult("fields applies to JSON only. This artifact is text: use from, count and find.", true);
  return answering.buildOfWhole();
}

interface ShownPart {
  readonly index: number;
  readonly text: string;
}

class ArtifactAnswer {
  /** Fields that at least one part has. */
  readonly #found = new Set<string>();
  readonly #finder = new ValueFinder(MAX_READ);

  constructor(
    readonly artifacts: Artifacts,
    readonly artifact: KeptArtifact,
    readonly outline: Outline,
    readonly request: ArtifactRequest,
  ) {}

  build(): ToolResult {
    const { from, count, find, fields } = this.request;
    const outline = this.outline;
    const contains = find === undefined ? () => true : createSearch(outline, find);
    const shown: ShownPart[] = [];
    let left = MAX_ANSWER - NOTE_BYTES;
    let next: number | undefined;
    let matches = 0;
    for (let index = from; index < outline.count; index += 1) {
      if (find === undefined && next !== undefined) break;
      if (!contains(index)) continue;
      matches += 1;
      if (next !== undefined) continue;
      const text = this.#pick(outline.slice(index, index + 1));
      const bytes = utf8Length(text) + 1;
      if (shown.length === count || (bytes > left && shown.length > 0)) next = index;
      else if (bytes > left) return this.#large(index, text);
      else {
        shown.push({ index, text });
        left -= bytes;
      }
    }
    // Parts without any of the fields would be a list of empty objects.
    if (fields !== undefined && this.#found.size === 0 && shown.length > 0) return this.buildOfWhole();
    // Without a match, nothing is known about the fields.
    const said = [this.#describe(shown, matches), ...(shown.length === 0 ? [] : this.#ofWhole())];
    if (next !== undefined) said.push(`Next: from ${next}.`);
    return this.#answer(said.join(" "), shown.length === 0 ? undefined : this.#join(shown));
  }

  /** The fields of the whole, for JSON without a list. */
  buildOfWhole(): ToolResult {
    return this.#answer(this.#ofWhole().join(" "), undefined);
  }

  #answer(note: string, text: string | undefined): ToolResult {
    if (this.#finder.isExhausted) return textResult(TOO_MUCH, true);
    return textResult(text === undefined ? note : `${note}\n${text}`);
  }

  /** The fields of a part, or all of it. */
  #pick(part: string): string {
    const { fields } = this.request;
    if (fields === undefined) return part;
    const { name, value } = this.#split(part);
    const members = fields.flatMap((field) => {
      const found = this.#finder.find(value, this.#inPart(field));
      if (found === undefined) return [];
      this.#found.add(field);
      return [`${JSON.stringify(field)}:${found}`];
    });
    return `${name}{${members.join(",")}}`;
  }

  /** A field may be named from the whole: `issues.title` for `title` of the items of `issues`. */
  #inPart(field: string): string {
    const { path } = this.outline;
    return path !== "" && field.startsWith(`${path}.`) ? field.slice(path.length + 1) : field;
  }

  /** The name of an entry with its colon, and the value. */
  #split(part: string): { name: string; value: string } {
    if (this.outline.unit !== "entries") return { name: "", value: part };
    const end = endOfText(part, 0) + 2;
    return { name: part.slice(0, end), value: part.slice(end) };
  }

  #describe(shown: readonly ShownPart[], matches: number): string {
    const { from, find } = this.request;
    const outline = this.outline;
    const [one, many] = nameOfParts(outline);
    if (find === undefined) return `${capital(shownRange(outline, from, from + shown.length))}.`;
    const where = `${outline.count} ${many}${placeOf(outline)}${from > 0 ? `, from ${from} on` : ""}`;
    if (matches === 0) return `None of ${where} contains ${JSON.stringify(find)}.`;
    const indexes = shown.slice(0, MAX_INDEXES).map(({ index }) => index);
    const more = shown.length > indexes.length ? ` and ${shown.length - indexes.length} more` : "";
    const named = `${shown.length === 1 ? one : many} ${indexes.join(", ")}${more}`;
    return `${matches} of ${where} contain ${JSON.stringify(find)}. Below: ${named}.`;
  }

  /** Fields that no part has, but the whole; and those that are nowhere. */
  #ofWhole(): string[] {
    const { fields = [] } = this.request;
    const { json } = this.outline;
    const missing = fields.filter((field) => !this.#found.has(field));
    if (missing.length === 0 || json === undefined) return [];
    const values = missing.flatMap((field) => {
      const value = this.#finder.find(json.text, field);
      return value === undefined ? [] : [{ field, value }];
    });
    const nowhere = missing.filter((field) => !values.some((found) => found.field === field));
    const said: string[] = [];
    if (values.length > 0) said.push(this.#shownOfWhole(values));
    if (nowhere.length > 0) {
      const names = nowhere.map((field) => JSON.stringify(field)).join(", ");
      said.push(`Not found: ${names.slice(0, 300)}. Shape: ${describeShape(this.outline)}.`);
    }
    return said;
  }

  #shownOfWhole(values: readonly { field: string; value: string }[]): string {
    const text = `{${values.map(({ field, value }) => `${JSON.stringify(field)}:${value}`).join(",")}}`;
    if (utf8Length(text) <= NOTE_BYTES / 2) return `Of the whole: ${text}.`;
    const [only] = values;
    const { note } = this.#keepPart(values.length === 1 ? only!.value : text, 0);
    return `Of the whole: ${values.map(({ field }) => JSON.stringify(field.slice(0, 100))).join(", ")}. ${note}`;
  }

  /** A single part that is larger than an answer becomes an artifact of its own. */
  #large(index: number, text: string): ToolResult {
    const [one] = nameOfParts(this.outline);
    const { note, preview } = this.#keepPart(this.#split(text).value, PREVIEW_BYTES);
    const next = index + 1 < this.outline.count ? ` The next ${one}: from ${index + 1}.` : "";
    const what = `${capital(one)} ${index} of ${this.outline.count} alone has ${utf8Length(text)} bytes. ${note}${next}`;
    return this.#answer(what, preview);
  }

  #keepPart(text: string, previewBytes: number): { note: string; preview: string } {
    const { server, tool } = this.artifact;
    const outline = outlineText(text);
    const fitted = fitOutline(outline, previewBytes);
    const id = this.artifacts.keep(text, { server, tool });
    return { note: describeCut({ outline, fitted, id }), preview: fitted.text };
  }

  #join(shown: readonly ShownPart[]): string {
    const { unit } = this.outline;
    const texts = shown.map(({ text }) => text);
    if (unit === "items") return `[${texts.join(",")}]`;
    if (unit === "entries") return `{${texts.join(",")}}`;
    const { from, find } = this.request;
    // A long line was divided without a line break.
    return find === undefined ? this.outline.slice(from, from + shown.length) : texts.join("\n");
  }
}

/** Whether a part contains a text, in any case. */
function createSearch(outline: Outline, find: string): (index: number) => boolean {
  const needle = find.toLowerCase();
  // In JSON the text may be escaped.
  const escaped = JSON.stringify(needle).slice(1, -1);
  return (index) => {
    const part = outline.slice(index, index + 1);
    if (outline.unit !== "lines") {
      const text = (/\\[u/]/.test(part) ? unescaped(part) : part).toLowerCase();
      return text.includes(needle) || text.includes(escaped);
    }
    // A long line may be divided inside the text.
    const more = index + 1 < outline.count ? outline.slice(index, index + 2) : part;
    return more
      .slice(0, part.length + find.length - 1)
      .toLowerCase()
      .includes(needle);
  };
}

/** Some servers escape slashes, and every character that is not ASCII. Other escapes stay. */
const unescaped = (json: string): string =>
  json.replace(/\\(?:u([\da-f]{4})|(.))/gi, (written: string, digits?: string, unit?: string) => {
    if (digits !== undefined) return String.fromCharCode(Number.parseInt(digits, 16));
    return unit === "/" ? "/" : written;
  });

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** What a model wants to read. */
interface ArtifactRequest {
  readonly id: string;
  readonly from: number;
  readonly count: number;
  readonly find: string | undefined;
  readonly fields: readonly string[] | undefined;
}

const DEFAULT_COUNT = 50;
const MAX_FIND = 1_000;
const MAX_FIELDS = 50;
const MAX_FIELD = 200;

/** The request, or a message for the model. */
function readArtifactArguments(args: Fields): ArtifactRequest | { readonly problem: string } {
  const { id, find } = args;
  if (typeof id !== "string" || id === "")
    return { problem: "id is missing: use the id that the note of the result names." };
  const from = readNumber(args["from"], 0);
  const count = readNumber(args["count"], DEFAULT_COUNT);
  const fields = readFields(args["fields"]);
  if (from === undefined) return { problem: "from must be a whole number of at least 0." };
  if (count === undefined || count === 0) return { problem: "count must be a whole number of at least 1." };
  if (!isMissing(find) && (typeof find !== "string" || find.length > MAX_FIND))
    return { problem: `find must be a text of at most ${MAX_FIND} characters.` };
  if (fields === "wrong")
    return { problem: `fields must be a list of at most ${MAX_FIELDS} names, such as ["id", "user.login"].` };
  return { id, from, count, find: isMissing(find) ? undefined : (find as string), fields };
}

/** Models fill in empty values for arguments that they do not need. */
const isMissing = (value: unknown): boolean => value === undefined || value === null || value === "";

function readNumber(value: unknown, otherwise: number): number | undefined {
  if (isMissing(value)) return otherwise;
  const number = typeof value === "string" && /^\d+$/.test(value.trim()) ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

function readFields(value: unknown): readonly string[] | "wrong" | undefined {
  if (isMissing(value)) return undefined;
  const names: unknown = typeof value === "string" ? value.split(",").map((name) => name.trim()) : value;
  if (!Array.isArray(names) || names.length > MAX_FIELDS) return "wrong";
  if (names.length === 0) return undefined;
  const isName = (name: unknown) => typeof name === "string" && name !== "" && name.length <= MAX_FIELD;
  return names.every(isName) ? [...new Set(names as string[])] : "wrong";
}
