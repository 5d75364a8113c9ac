/**
 * Patterns that every provider's engine compiles. OpenAI checks them with Python's `re` and refuses look-around; Gemini uses
 * RE2. Patterns that only JavaScript understands are put into words.
 */
export function isSimplePattern(pattern: string): boolean {
  if (/\(\?(?!:)|\\(?![dDwWsSnrtfv\W_])|\[\^?\]/.test(pattern)) return false;
  try {
    new RegExp(pattern);
    return true;
  } catch {
    return false;
  }
}
