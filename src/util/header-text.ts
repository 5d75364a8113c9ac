/** Encodes text for MCP header values. */

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
