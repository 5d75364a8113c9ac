/** Encodes and decodes text in MCP header values. */

/** Encodes anything but visible ASCII as Base64, so that an argument cannot inject another header. */
export function encodeHeaderText(value: string): string {
  const plain = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/.test(value);
  const looksEncoded = value.startsWith("=?base64?") && value.endsWith("?=");
  if (plain && !looksEncoded) return value;
  const bytes = new TextEncoder().encode(value);
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return `=?base64?${btoa(binary)}?=`;
}

/** Undoes {@link encodeHeaderText}. Undefined if the encoding is not canonical Base64 of UTF-8. */
export function decodeHeaderText(value: string): string | undefined {
  if (!value.startsWith("=?base64?") || !value.endsWith("?=")) return value;
  const encoded = value.slice("=?base64?".length, -"?=".length);
  try {
    const binary = atob(encoded);
    if (btoa(binary) !== encoded) return undefined;
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
