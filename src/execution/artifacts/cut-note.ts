/** The note in front of a text that was cut: size, shape, what follows, and how to read on. */
import { READ_ARTIFACT_NAME } from "./artifact-store.js";
import { describeShape } from "./describe-shape.js";
import type { FittedText } from "./fit-text.js";
import type { Outline } from "./outline-text.js";

interface CutFacts {
  readonly outline: Outline;
  readonly fitted: FittedText;
  /** Undefined if the rest cannot be read. */
  readonly id: string | undefined;
  /** Longest description of the shape, in characters. */
  readonly shapeLength?: number | undefined;
}

/** Such as `Shape: { … }. Below: items 0 to 2 of 1300. Read on: read_artifact with {"id":"…","from":3}; …`. */
export function describeCut({ outline, fitted, id, shapeLength }: CutFacts): string {
  const shape = describeShape(outline, shapeLength);
  if (fitted.shown === undefined) return `Shape: ${shape}. Below: everything.`;
  const shown = fitted.text === "" ? "nothing" : fitted.shown;
  return `Shape: ${shape}. Below: ${shown}. ${id === undefined ? NARROWER : readOn(id, fitted.next, outline)}`;
}

/** How to read an artifact. */
export function readOn(id: string, next: number, { unit }: Pick<Outline, "unit">): string {
  const call = JSON.stringify({ id, ...(next > 0 && { from: next }) });
  const how = unit === "lines" ? `"find" searches` : `"find" searches, "fields" picks fields`;
  return `Read on: ${READ_ARTIFACT_NAME} with ${call}; ${how}.`;
}

const NARROWER = "For the rest, call the tool again with narrower arguments, such as a filter or a page.";
