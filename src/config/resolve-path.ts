/** Resolves relative paths in a configuration file, without `node:path`, for any runtime. */

const ABSOLUTE = /^(?:[a-z]:)?[\\/]|^[a-z]:$/i;

/** `path` relative to `baseDir`; absolute paths stay as they are. */
export function resolvePath(baseDir: string, path: string): string {
  if (ABSOLUTE.test(path)) return path;
  const windows = /^[a-z]:|\\/i.test(baseDir);
  const separators = windows ? /[\\/]+/ : /\/+/;
  const parts: string[] = [];
  for (const part of [...baseDir.split(separators), ...path.split(separators)]) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  const joined = parts.join(windows ? "\\" : "/");
  return windows && /^[a-z]:$/i.test(parts[0] ?? "") ? joined : `${windows ? "\\" : "/"}${joined}`;
}

/** A program is looked up on the `PATH` unless it is written as a path that starts with a dot. */
export function resolveCommand(baseDir: string, command: string): string {
  return /^\.{1,2}[\\/]/.test(command) ? resolvePath(baseDir, command) : command;
}
