/** Whether a URI may be an expansion of a template. Linear in the length of both: templates come from servers. */

const MAX_LENGTH = 10_000;

/** A simple expression fits any text without a slash; those with an operator fit any text. */
export function matchesTemplate(template: string, uri: string): boolean {
  if (template.length > MAX_LENGTH || uri.length > MAX_LENGTH) return false;
  const parts = template.split(/\{([^{}]*)\}/);
  // Without an expression, only the same text fits.
  if (parts.length === 1) return template === uri;
  const [start = ""] = parts;
  if (!uri.startsWith(start)) return false;
  let position = start.length;
  for (let index = 1; index < parts.length; index += 2) {
    const expression = parts[index]!;
    const literal = parts[index + 1]!;
    const isLast = index + 2 >= parts.length;
    const end = isLast ? uri.length - literal.length : nextIndex(uri, literal, position);
    if (end < position || !uri.startsWith(literal, end)) return false;
    if (isSimple(expression) && uri.slice(position, end).includes("/")) return false;
    position = end + literal.length;
  }
  return position === uri.length;
}

/** The next place of the literal; an empty one directly after the previous expression fits nothing more. */
const nextIndex = (uri: string, literal: string, from: number): number =>
  literal === "" ? from : uri.indexOf(literal, from);

const isSimple = (expression: string): boolean => /^[A-Za-z0-9_%]/.test(expression);
