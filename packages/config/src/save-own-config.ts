/** Changes servers in a `toolport.json` and preserves everything else in the file. */
import { randomBytes } from "node:crypto";
import { chmod, mkdir, open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { ConfigError, type ConfigPath, isRecord, suggest } from "@toolport/base";
import { parseJsonConfig, valueAt } from "@toolport/base/json-config";
import type { ServerEntry } from "@toolport/core";
import { parseServerEntry } from "@toolport/core/internal";
import { applyEdits, type FormattingOptions, modify } from "jsonc-parser";
import { placeOf, surroundingsOf } from "./config-locations.js";
import { hasVariables } from "./expand-variables.js";

/** The changes, applied in this order. */
export interface ConfigChanges {
  /** Servers to remove. */
  remove?: readonly string[];
  /** Servers to add. Existing servers of the same name are replaced only with `replace`. Variables are not expanded. */
  add?: Readonly<Record<string, ServerEntry | Readonly<Record<string, unknown>>>>;
  /** @default false */
  replace?: boolean;
  enable?: readonly string[];
  disable?: readonly string[];
}

const CONTAINER = "mcpServers";

/** Only the owner may read a file with secrets. */
const PRIVATE_MODE = 0o600;

/**
 * Adds, removes, enables and disables servers in a `toolport.json`, which is created if it does not exist. Comments, order
 * and formatting are preserved. The file is replaced atomically; if it contains secrets, only its owner may read it.
 * Rejects files of other programs.
 *
 * @throws ConfigError `UNKNOWN_SERVER`, `DUPLICATE_SERVER`, `INVALID_CONFIG` or `UNREADABLE_CONFIG`; the file is unchanged then
 * @example
 * ```ts
 * await saveOwnConfig("toolport.json", { add: { time: { command: "uvx", args: ["mcp-server-time"] } } });
 * await saveOwnConfig("toolport.json", { disable: ["time"] });
 * ```
 */
export async function saveOwnConfig(path: string, changes: ConfigChanges): Promise<void> {
  const file = resolve(path);
  const { kind } = placeOf(file, surroundingsOf({}));
  if (kind !== undefined && kind !== "toolport") {
    throw invalidFile(
      file,
      "belongs to another program, whose files Toolport does not change; write to a toolport.json instead",
    );
  }
  // Replace the target of a symbolic link, not the link.
  const target = await realpath(file).catch(() => file);
  const before = await readFile(target, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  const text = changeText(file, before ?? `{\n  "${CONTAINER}": {}\n}\n`, changes);
  if (text !== before) await replaceFile(target, text);
}

function changeText(file: string, before: string, changes: ConfigChanges): string {
  const { root } = parseJsonConfig(file, before.replace(/^\uFEFF/, ""));
  if (!isRecord(root)) throw invalidFile(file, "must contain an object");
  const present = valueAt(root, [CONTAINER]) ?? {};
  if (!isRecord(present)) throw invalidFile(file, `"${CONTAINER}" must be an object`);
  const names = new Set(Object.keys(present));
  let text = before.replace(/^\uFEFF/, "");
  const formattingOptions = formattingOf(text);
  const set = (inner: ConfigPath, value: unknown) => {
    const edits = modify(text, [CONTAINER, ...inner], value, { formattingOptions });
    text = applyEdits(text, edits);
  };
  for (const name of changes.remove ?? []) {
    requireServer(names, name);
    names.delete(name);
    set([name], undefined);
  }
  for (const [name, entry] of Object.entries(changes.add ?? {})) {
    if (names.has(name) && changes.replace !== true) throw duplicate(name);
    set([name], plainEntry(name, entry));
    names.add(name);
  }
  for (const name of changes.enable ?? []) {
    requireServer(names, name);
    for (const key of ["enabled", "disabled"]) set([name, key], undefined);
  }
  for (const name of changes.disable ?? []) {
    requireServer(names, name);
    set([name, "disabled"], undefined);
    set([name, "enabled"], false);
  }
  return before.startsWith("\uFEFF") ? `\uFEFF${text}` : text;
}

/** Validates an entry and converts it to JSON. */
function plainEntry(name: string, entry: Readonly<Record<string, unknown>> | ServerEntry): unknown {
  const { url } = entry as { url?: unknown };
  const hasVariable = typeof url === "string" && hasVariables(url);
  // A URL with a variable cannot be validated yet: use a placeholder.
  const { envFile: _known, ...checked } = { envFile: undefined, ...entry };
  parseServerEntry(name, hasVariable ? { ...checked, url: placeholderFor(url) } : checked);
  const lost = Object.entries(entry).find(([, value]) => typeof value === "function" || isProvider(value));
  if (lost !== undefined) {
    const path = `${CONTAINER}.${name}.${lost[0]}`;
    const issues = [{ path, message: "is a function, which a file cannot contain" }];
    throw new ConfigError({ code: "INVALID_CONFIG", issues });
  }
  return JSON.parse(JSON.stringify(entry)) as unknown;
}

const placeholderFor = (url: string): string =>
  /^wss?:/i.test(url) ? "wss://localhost/" : "https://localhost/";

const isProvider = (value: unknown): boolean =>
  isRecord(value) && Object.values(value).some((field) => typeof field === "function");

function requireServer(names: ReadonlySet<string>, name: string): void {
  if (names.has(name)) return;
  const [close] = suggest(name, names, 1);
  const hint = close === undefined ? "" : `; did you mean "${close}"?`;
  const what = `There is no server "${name}" in the file${hint}`;
  throw new ConfigError({ code: "UNKNOWN_SERVER", what, server: name });
}

const duplicate = (name: string): ConfigError => {
  const what = `The file already contains a server "${name}"`;
  const next = "Choose another name, or set `replace`";
  return new ConfigError({ code: "DUPLICATE_SERVER", what, next, server: name });
};

const invalidFile = (file: string, message: string): ConfigError =>
  new ConfigError({ code: "INVALID_CONFIG", issues: [{ file, path: basename(file), message }] });

/** Detects the formatting of the file. */
function formattingOf(text: string): FormattingOptions {
  const indent = /\n([ \t]+)"/.exec(text)?.[1] ?? "  ";
  return {
    insertSpaces: !indent.startsWith("\t"),
    tabSize: indent.startsWith("\t") ? 1 : indent.length,
    eol: text.includes("\r\n") ? "\r\n" : "\n",
  };
}

/** Writes a temporary file and renames it, so that readers see either the old or the new content. */
async function replaceFile(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const present = await stat(file).catch(() => undefined);
  const mode = holdsSecrets(file, text) ? PRIVATE_MODE : (present?.mode ?? 0o644) & 0o777;
  const temporary = join(dirname(file), `.${basename(file)}.${randomBytes(6).toString("hex")}.tmp`);
  try {
    const handle = await open(temporary, "wx", PRIVATE_MODE);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await chmod(temporary, mode);
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Values of headers and variables count as secrets unless they are references. */
function holdsSecrets(file: string, text: string): boolean {
  const servers = valueAt(parseJsonConfig(file, text.replace(/^\uFEFF/, "")).root, [CONTAINER]);
  return Object.values(isRecord(servers) ? servers : {}).some((entry) => {
    if (!isRecord(entry)) return false;
    const oauth = isRecord(entry["oauth"]) ? entry["oauth"] : {};
    const login = ["clientSecret", "privateKey", "assertion", "enterprise"].map((key) => oauth[key]);
    return [...valuesOf(entry["env"]), ...valuesOf(entry["headers"]), ...login].some(isLiteral);
  });
}

const valuesOf = (map: unknown): unknown[] => (isRecord(map) ? Object.values(map) : []);

const isLiteral = (value: unknown): boolean =>
  value !== undefined && (typeof value !== "string" || !/\$\{[^}]+\}|\{(?:env|file):[^}]+\}/.test(value));
