/** Expands the variables of one entry and makes its paths absolute. */
import { basename, sep } from "node:path";
import util, { inspect } from "node:util";
import { resolveCommand, resolvePath } from "../config/entry-options.js";
import type { ConfigPath } from "../config/option-table.js";
import { isRecord } from "../util/json.js";
import { redactUrl } from "../util/redact-text.js";
import type { DialectEntry } from "./dialects/dialect.js";
import {
  type Environment,
  expandVariables,
  type VariableSource,
  type VariableValue,
} from "./expand-variables.js";

export interface EntrySurroundings {
  readonly env: Environment;
  readonly home: string;
  /** Base of relative paths. */
  readonly baseDir: string;
  /** The project directory. */
  readonly workspaceFolder: string;
  /** `$NAME` is a variable. */
  readonly bare: boolean;
  readonly askInput: (id: string) => Promise<VariableValue>;
  /** Reads a file by its absolute path. */
  readonly readFile: (path: string) => Promise<VariableValue>;
  /** Reports an issue at a path in the entry. */
  readonly report: (path: ConfigPath, message: string) => void;
  readonly warn: (path: ConfigPath, message: string) => void;
}

/** Returns the expanded entry. Variables that cannot be expanded are reported. */
export async function expandEntry(
  { entry, envFile, passedVariables }: DialectEntry,
  surroundings: EntrySurroundings,
): Promise<Record<string, unknown>> {
  const { home, baseDir } = surroundings;
  const expanded = (await expandAll(entry, [], surroundings)) as Record<string, unknown>;
  if (envFile !== undefined || passedVariables.length > 0) {
    const more = await moreVariables({ envFile, passedVariables }, surroundings);
    const own = expanded["env"];
    if (own === undefined || isRecord(own)) expanded["env"] = { ...more, ...own };
  }
  const { command, cwd } = expanded;
  if (typeof command === "string") expanded["command"] = resolveCommand(baseDir, fromHome(command, home));
  if (typeof cwd === "string") expanded["cwd"] = resolvePath(baseDir, fromHome(cwd, home));
  hideValues(expanded);
  return expanded;
}

/** Names that refer to paths, not to variables of the user. */
export const PLACE_NAMES: readonly string[] = [
  ...["workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator"],
];

/** The source of values for the variables of an entry. */
export function variableSource(surroundings: EntrySurroundings): VariableSource {
  const { env, home, workspaceFolder, bare, askInput } = surroundings;
  return {
    env,
    bare,
    askInput,
    words: {
      workspaceFolder,
      workspaceFolderBasename: basename(workspaceFolder),
      userHome: home,
      pathSeparator: sep,
      "/": sep,
    },
    readFile: async (path) => {
      const read = await surroundings.readFile(resolveFrom(path, surroundings));
      // Editors add a newline at the end of a file: it is not part of the secret.
      return "problem" in read ? read : { value: read.value.replace(/\r?\n$/, ""), secret: true };
    },
  };
}

async function expandAll(
  value: unknown,
  path: ConfigPath,
  surroundings: EntrySurroundings,
): Promise<unknown> {
  if (typeof value === "string") return expandOne(value, path, surroundings);
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const [index, item] of value.entries())
      items.push(await expandAll(item, [...path, index], surroundings));
    return items;
  }
  if (!isRecord(value)) return value;
  const fields: [string, unknown][] = [];
  // One at a time, because some variables ask the user.
  for (const [name, field] of Object.entries(value)) {
    fields.push([name, await expandAll(field, [...path, name], surroundings)]);
  }
  return Object.fromEntries(fields);
}

async function expandOne(text: string, path: ConfigPath, surroundings: EntrySurroundings): Promise<string> {
  const { text: expanded, problems, secret } = await expandVariables(text, variableSource(surroundings));
  for (const problem of problems) surroundings.report(path, problem);
  if (secret && (path[0] === "args" || path[0] === "command")) {
    surroundings.warn(
      path,
      "contains a secret that every program on this machine can read; use a variable in env",
    );
  }
  return expanded;
}

async function moreVariables(
  { envFile, passedVariables }: Pick<DialectEntry, "envFile" | "passedVariables">,
  surroundings: EntrySurroundings,
): Promise<Record<string, string>> {
  const passed = passedVariables.flatMap((name) => {
    const value = surroundings.env[name];
    return typeof value === "string" ? [[name, value] as const] : [];
  });
  if (envFile === undefined) return Object.fromEntries(passed);
  const path = await expandOne(envFile, ["envFile"], surroundings);
  const read = await surroundings.readFile(resolveFrom(path, surroundings));
  if ("problem" in read) {
    surroundings.report(["envFile"], read.problem);
    return Object.fromEntries(passed);
  }
  return { ...Object.fromEntries(passed), ...(util.parseEnv(read.value) as Record<string, string>) };
}

const fromHome = (path: string, home: string): string => (/^~[\\/]/.test(path) ? home + path.slice(1) : path);

/** Resolves a path of an entry relative to its file. */
export const resolveFrom = (
  path: string,
  { baseDir, home }: Pick<EntrySurroundings, "baseDir" | "home">,
): string => resolvePath(baseDir, fromHome(path, home));

const MAPS = ["env", "headers", "oauth"];
const ADDRESSES = ["url", "sseUrl", "base_url"];

/** Changes only the output of `console.log` and `util.inspect`, not the values. */
export function hideValues(entry: Readonly<Record<string, unknown>>): void {
  for (const key of MAPS) {
    const map = entry[key];
    if (isRecord(map)) hideAll(map);
  }
  const addresses = ADDRESSES.filter((key) => typeof entry[key] === "string").map(
    (key) => [key, redactUrl(entry[key] as string)] as const,
  );
  if (addresses.some(([key, shown]) => shown !== entry[key]))
    show(entry, () => ({ ...entry, ...Object.fromEntries(addresses) }));
}

/** Hides all values: any unknown field may be a secret. */
export function hideAll(map: Readonly<Record<string, unknown>>): void {
  show(map, () => Object.fromEntries(Object.keys(map).map((name) => [name, "[redacted]"])));
}

function show(hidden: object, view: () => object): void {
  Object.defineProperty(hidden, inspect.custom, { value: view, enumerable: false });
}
