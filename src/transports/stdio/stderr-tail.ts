/** The last of what a process wrote to stderr: always read, so that the process never blocks on it. */

import { toPlainText } from "../to-plain-text.js";
import { errorLines } from "./error-lines.js";
import { TailBuffer } from "./tail-buffer.js";

const TAIL_BYTES = 4_096;
/** Kept in memory: 64 KiB at most. Colours and progress bars shrink a lot when they are stripped. */
const KEPT_BYTES = 32 * 1_024;

/** Collects stderr in bounded memory. */
export class StderrTail {
  readonly #buffer = new TailBuffer(KEPT_BYTES);
  readonly #redact: (text: string) => string;

  /** @param redact takes secrets out of the text */
  constructor(redact: (text: string) => string = (text) => text) {
    this.#redact = redact;
  }

  push(chunk: Buffer): void {
    this.#buffer.add(chunk);
  }

  /** The last 4 KiB as plain text, from the beginning of a line. Nothing was written: undefined. */
  tail(): string | undefined {
    const plain = this.#plain();
    if (plain === "") return undefined;
    const bytes = Buffer.from(plain);
    if (bytes.length <= TAIL_BYTES) return plain;
    const cut = bytes.subarray(bytes.length - TAIL_BYTES).toString("utf8");
    const lineStart = cut.indexOf("\n") + 1;
    // A single endless line has no beginning to cut at; half a character at the front is dropped.
    return lineStart === 0 || lineStart === cut.length ? cut.replace(/^\uFFFD+/, "") : cut.slice(lineStart);
  }

  /** The lines that say why the process failed, in one, for an error message. */
  cause(): string | undefined {
    const lines = errorLines(this.#plain());
    return lines.length === 0 ? undefined : lines.join(" / ");
  }

  #plain(): string {
    return this.#redact(toPlainText(this.#buffer.last(KEPT_BYTES).toString("utf8"))).trim();
  }
}
