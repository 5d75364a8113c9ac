/** Approximate size of a value in characters, without serializing it. */
export function weigh(value: unknown, depth = 0): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null || depth > 24) return 8;
  let weight = 8;
  for (const [name, item] of Object.entries(value)) weight += name.length + weigh(item, depth + 1);
  return weight;
}
