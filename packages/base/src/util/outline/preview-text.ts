/** A preview of a text that is too large: a note with its shape, and as much of the text as fits. */
import { tokenCeiling, utf8Length } from "../text.js";
import { describeCut } from "./cut-note.js";
import { type FittedText, fitOutline } from "./fit-text.js";
import type { Outline } from "./outline-text.js";

export const SMALLEST_PREVIEW = 300;
const MAX_TRIES = 5;
const SHAPE_LENGTH = 450;

export interface Preview {
  readonly note: string;
  readonly fitted: FittedText;
}

/** `share`: bytes for the text, and for the note too if the rest can be read. `tokens`: the same in tokens. */
export function previewText(
  outline: Outline,
  { id, share, tokens }: { id: string | undefined; share: number; tokens: number },
): Preview {
  let shapeLength = SHAPE_LENGTH;
  const describe = (fitted: FittedText) => describeCut({ outline, fitted, id, shapeLength });
  if (id === undefined) {
    const fitted = fitOutline(outline, Math.max(0, share));
    return { note: describe(fitted), fitted };
  }
  const example = { text: "x", shown: "items 0 to 10 of 1000000", next: 10 };
  while (shapeLength > 50 && tokenCeiling(describe(example)) > tokens / 2) shapeLength /= 2;
  const about = describe(example);
  const left = tokens - tokenCeiling(about);
  let bytes = Math.max(SMALLEST_PREVIEW, share - utf8Length(about));
  let fitted = fitOutline(outline, bytes);
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const used = tokenCeiling(fitted.text);
    if (used <= left) break;
    bytes = Math.floor((bytes * left) / used);
    fitted = fitOutline(outline, bytes);
  }
  return { note: describe(fitted), fitted };
}
