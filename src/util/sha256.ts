/** SHA-256 of a text. */

const encoder = new TextEncoder();

/** The hash in hexadecimal, the same on every runtime. */
export async function sha256(text: string): Promise<string> {
  const digest = await globalThis.crypto.subtle.digest("SHA-256", encoder.encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
