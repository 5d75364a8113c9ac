/** Reads large texts from bytes with functions that only Node has. In other runtimes all return undefined or false. */

/** Shorter texts are decoded fast enough. */
const LARGE_BYTES = 32_768;

/** Undefined in other runtimes. */
const node = globalThis.process?.getBuiltinModule?.("buffer");

/** Whether all bytes are ASCII characters. */
export const isAsciiBytes = (bytes: Uint8Array): boolean => node?.isAscii(bytes) === true;

/** Whether the bytes are valid UTF-8. */
export const isUtf8Bytes = (bytes: Uint8Array): boolean => node?.isUtf8(bytes) === true;

/** The same bytes as a `Buffer`, which can be searched. */
export const toBuffer = (bytes: Uint8Array): Buffer | undefined =>
  node?.Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** The text of bytes in UTF-8, or any other encoding that contains ASCII. Undefined unless they are many, and all ASCII. */
export function asciiText(bytes: Uint8Array): string | undefined {
  if (bytes.length < LARGE_BYTES || !isAsciiBytes(bytes)) return undefined;
  return toBuffer(bytes)?.toString("latin1");
}
