/** Whether a text is a URL. */

/**
 * Replaces `URL.canParse`, which in Node 20 returns false for texts with characters such as `ü` once the engine has optimised the call.
 *
 * @example
 * ```ts
 * canParseUrl("https://bücher.example"); // true, every time
 * ```
 */
export function canParseUrl(text: string, base?: string): boolean {
  try {
    new URL(text, base);
    return true;
  } catch {
    return false;
  }
}
