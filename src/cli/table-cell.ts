/** Text from servers on its way into a table. */
import { plainLine } from "./plain-text.js";

/** A cell of text that came from a server. */
export const cell = (value: unknown): string =>
  value === undefined || value === null ? "" : plainLine(String(value));
