/** Which draft of JSON Schema a schema is written in. */
import type { JsonSchema } from "./json-schema.js";

/** The drafts that the validator tells apart; draft-06 is read as draft-07, which only adds to it. */
export type Draft = "4" | "7" | "2019-09" | "2020-12";

const DRAFTS: Readonly<Record<string, Draft>> = {
  "json-schema.org/draft/2020-12/schema": "2020-12",
  "json-schema.org/draft/2019-09/schema": "2019-09",
  "json-schema.org/draft-07/schema": "7",
  "json-schema.org/draft-06/schema": "7",
  "json-schema.org/draft-04/schema": "4",
};

/** The draft that `$schema` names; without `$schema` it is 2020-12, undefined when it names none we know. */
export function draftOf(schema: JsonSchema): Draft | undefined {
  const declared = schema["$schema"];
  if (declared === undefined) return "2020-12";
  if (typeof declared !== "string") return undefined;
  const address = declared.replace(/^https?:\/\//, "").replace(/#$/, "");
  return Object.hasOwn(DRAFTS, address) ? DRAFTS[address] : undefined;
}
