/** An entry for a file of ours: translated, but with its variables and without what they hold. */
import { isRecord } from "../config/entry-reader.js";
import { resolveCommand, resolvePath } from "../config/resolve-path.js";
import type { DialectEntry } from "./dialects/dialect.js";
import { hasVariables, withBraces } from "./expand-variables.js";
import { hideValues } from "./hide-values.js";

/** Paths become absolute: the copy will stand somewhere else. */
export function writtenEntry(
  { entry, envFile, passedVariables }: DialectEntry,
  { baseDir, bare }: { baseDir: string; bare: boolean },
): Record<string, unknown> {
  const written = (bare ? mapTexts(entry, withBraces) : structuredClone(entry)) as Record<string, unknown>;
  const { command, cwd, env } = written;
  const isPlain = (path: string) => !hasVariables(path) && !path.startsWith("~");
  if (typeof command === "string") written["command"] = resolveCommand(baseDir, command);
  if (typeof cwd === "string" && isPlain(cwd)) written["cwd"] = resolvePath(baseDir, cwd);
  if (envFile !== undefined) written["envFile"] = isPlain(envFile) ? resolvePath(baseDir, envFile) : envFile;
  if (passedVariables.length > 0 && (env === undefined || isRecord(env))) {
    const passed = passedVariables.map((name) => [name, `\${${name}:-}`]);
    written["env"] = { ...Object.fromEntries(passed), ...env };
  }
  hideValues(written);
  return written;
}

function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === "string") return map(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, map));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, mapTexts(field, map)]));
}
