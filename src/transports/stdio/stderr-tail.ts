/** The last output of a process on stderr. It is always read, so that the process never blocks on it. */

import { toPlainText } from "../to-plain-text.js";
import { errorLines } from "./error-lines.js";
import { TailBuffer } from "./tail-buffer.js";

const TAIL_BYTES = 4_096;
/** Uses at most 64 KiB of memory. Text with colours and progress bars gets much shorter when they are removed. */
const KEPT_BYTES = 32 * 1_024;

/** Collects stderr in bounded memory. */
export class StderrTail {
  readonly #buffer = new TailBuffer(KEPT_BYTES);
  readonly #redact: (text: string) => string;

  /** @param redact redacts secrets in the text */
  constructor(redact: (text: string) => string = (text) => text) {
    this.#redact = redact;
  }

  push(chunk: Buffer): void {
    this.#buffer.add(chunk);
  }

  /** The last 4 KiB as plain text, from the beginning of a line; undefined if nothing was written. */
  tail(): string | undefined {
    const plain = this.#plain();
    if (plain === "") return undefined;
    const bytes = Buffer.from(plain);
    if (bytes.length <= TAIL_BYTES) return plain;
    const cut = bytes.subarray(bytes.length - TAIL_BYTES).toString("utf8");
    const lineStart = cut.indexOf("\n") + 1;
    // A single long line has no beginning to cut at; drop half a character at the front.
    return lineStart === 0 || lineStart === cut.length ? cut.replace(/^\uFFFD+/, "") : cut.slice(lineStart);
  }

  /** The lines that say why the process failed, joined for an error message. */
  cause(): string | undefined {
    const lines = errorLines(this.#plain());
    return lines.length === 0 ? undefined : lines.join(" / ");
  }

  #plain(): string {
    return this.#redact(toPlainText(this.#buffer.last(KEPT_BYTES).toString("utf8"))).trim();
  }
}
