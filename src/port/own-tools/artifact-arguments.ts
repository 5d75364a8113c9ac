/** Reads the arguments of `read_artifact`, which come from a model. */

/** What a model wants to read. */
export interface ArtifactRequest {
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

type Arguments = Readonly<Record<string, unknown>>;

/** The request, or a message for the model. */
export function readArtifactArguments(args: Arguments): ArtifactRequest | { readonly problem: string } {
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
