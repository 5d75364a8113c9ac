/** Finds groups of source files that import each other, type imports included. */
import { posix } from "node:path";
import { findImports } from "./import-statements.js";

/** Every group of files that reach each other through imports, sorted; each group is sorted as well. */
export function findCycles(files: readonly string[], textOf: (file: string) => string): string[][] {
  const known = new Set(files);
  const imports = new Map(
    files.map((file) => {
      const targets = findImports(file, textOf(file))
        .filter(({ specifier }) => specifier.startsWith("."))
        .map(({ specifier }) => posix.join(posix.dirname(file), specifier).replace(/\.js$/, ".ts"));
      return [file, [...new Set(targets)].filter((target) => known.has(target))] as const;
    }),
  );
  return groupsOf(imports)
    .map((group) => group.sort())
    .sort((a, b) => (a[0]! < b[0]! ? -1 : 1));
}

/** Strongly connected components with more than one file (Tarjan's algorithm). */
function groupsOf(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const groups: string[][] = [];
  const visit = (file: string): void => {
    const own = index.size;
    index.set(file, own);
    low.set(file, own);
    stack.push(file);
    for (const target of imports.get(file) ?? []) {
      if (!index.has(target)) visit(target);
      if (stack.includes(target)) low.set(file, Math.min(low.get(file)!, low.get(target)!));
    }
    if (low.get(file) !== own) return;
    const group = stack.splice(stack.indexOf(file));
    if (group.length > 1) groups.push(group);
  };
  for (const file of imports.keys()) if (!index.has(file)) visit(file);
  return groups;
}
