/** JSON of results: text, or pieces of which large ones are encoded already. */

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** JSON in pieces. In a template it becomes text. */
export class JsonPieces {
  readonly pieces: readonly (string | Uint8Array)[];

  constructor(pieces: readonly (string | Uint8Array)[]) {
    this.pieces = pieces;
  }

  toBytes(): Uint8Array<ArrayBuffer> {
    const parts = this.pieces.map((piece) => (typeof piece === "string" ? encoder.encode(piece) : piece));
    const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const part of parts) {
      bytes.set(part, at);
      at += part.length;
    }
    return bytes;
  }

  toString(): string {
    return this.pieces.map((piece) => (typeof piece === "string" ? piece : decoder.decode(piece))).join("");
  }
}

export type JsonText = string | JsonPieces;

/** Texts before and after a piece. */
export const wrapJson = (before: string, json: JsonText, after: string): JsonText =>
  typeof json === "string" ? `${before}${json}${after}` : new JsonPieces([before, ...json.pieces, after]);

export const encodeJson = (text: string): Uint8Array => encoder.encode(text);
