/** Writes generated text between `<!-- name: begin -->` and `<!-- name: end -->` of a guide. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const RELIABILITY = fileURLToPath(new URL("../docs/reliability.md", import.meta.url));

/** Replaces everything between the two marks. */
export function writeSection(name, text, file = RELIABILITY) {
  const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
  const before = readFileSync(file, "utf8");
  const [from, to] = [before.indexOf(begin), before.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`${file} has no section ${name}`);
  writeFileSync(file, `${before.slice(0, from + begin.length)}\n${text.trim()}\n${before.slice(to)}`);
}
