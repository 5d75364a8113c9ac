/** Encodes and decodes base64 on every runtime. */

/** More arguments than this at once would overflow the stack of some engines. */
const CHUNK = 0x8000;

/** The standard alphabet, padded. */
export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let start = 0; start < bytes.length; start += CHUNK) {
    binary += String.fromCharCode(...bytes.subarray(start, start + CHUNK));
  }
  return btoa(binary);
}

/** The bytes, or undefined if the text is not base64 or base64url. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) =>
      char.charCodeAt(0),
    );
  } catch {
    return undefined;
  }
}
