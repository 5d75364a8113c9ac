/** Reads large ASCII texts in a third of the time that decoding UTF-8 takes. Needs Node. */

/** Shorter texts are decoded fast enough. */
const LARGE_BYTES = 32_768;

/** Undefined in other runtimes. */
const node = globalThis.process?.getBuiltinModule?.("buffer");

/** Whether all bytes are ASCII characters. False if this runtime cannot tell quickly. */
export const isAsciiBytes = (bytes: Uint8Array): boolean => node?.isAscii(bytes) === true;

/** The text of bytes in UTF-8, or any other encoding that contains ASCII. Undefined unless they are many, and all ASCII. */
export function asciiText(bytes: Uint8Array): string | undefined {
  if (node === undefined || bytes.length < LARGE_BYTES || !node.isAscii(bytes)) return undefined;
  return node.Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}
