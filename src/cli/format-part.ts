/** Formats one content part of a result or a prompt as text. */
import type { ContentPart } from "../content/content-part.js";
import { partNote } from "../content/part-note.js";
import { plainLine } from "./plain-text.js";

/** Text keeps its line breaks. Other parts become a note of one line. */
export function formatPart(part: ContentPart): string {
  if (part.kind === "text") return part.text;
  if (part.kind === "text-resource")
    return `${plainLine(partNote({ ...part, kind: "bare-resource" }))}\n${part.text}`;
  return plainLine(partNote(part));
}
