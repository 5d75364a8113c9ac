/** One part of a result or a prompt as text for a person. */
import type { ContentPart } from "../content/content-part.js";
import { partNote } from "../content/part-note.js";
import { plainLine } from "./plain-text.js";

/** Text keeps its lines. A note about anything else is one line, whatever the server calls it. */
export function shownPart(part: ContentPart): string {
  if (part.kind === "text") return part.text;
  if (part.kind === "text-resource")
    return `${plainLine(partNote({ ...part, kind: "bare-resource" }))}\n${part.text}`;
  return plainLine(partNote(part));
}
