/** Lists the files of the repository for the tests that read them. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's root directory, without a slash at its end. */
export const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/[\\/]$/, "");

/** The published package. */
export const published = join(root, "packages/toolport");
/** What `npm run build` writes. */
export const dist = join(published, "dist");

/** Where a source is: `core/execution/attempt.ts` is `packages/core/src/execution/attempt.ts`. */
export const sourcePath = (file: string): string => join(root, "packages", file.replace("/", "/src/"));

/** All sources of the packages, without tests, under their short names. */
export function sourceFiles(ending = ".ts"): string[] {
  return readdirSync(join(root, "packages"))
    .sort()
    .flatMap((name) =>
      filesBelow(join(root, "packages", name, "src"), ending).map((file) => `${name}/${file}`),
    )
    .filter((file) => !/\.test\.tsx?$/.test(file));
}

/** Files below `directory` whose name ends with `ending`, relative to it, with forward slashes. */
export function filesBelow(directory: string, ending: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .sort();
}

/** Files git knows or would add, relative to the root; files deleted but not yet committed are left out. */
export function repositoryFiles(): string[] {
  const listing = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  return listing
    .split("\0")
    .filter((file) => file !== "" && statSync(join(root, file), { throwIfNoEntry: false })?.isFile());
}
