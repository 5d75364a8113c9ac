/** Arguments as a model wrote them, for people to look at; the adapters read them by themselves. */
export function readArguments(text: unknown): unknown {
  if (typeof text !== "string") return text;
  try {
    return text.trim() === "" ? {} : JSON.parse(text);
  } catch {
    return text;
  }
}
