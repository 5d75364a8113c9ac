/** Walks built modules like a bundler for a runtime: package exports and imports under conditions, including CommonJS. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join, resolve } from "node:path";
import { findImports, type ImportStatement } from "./import-statements.js";

/** Options of the walk. */
export interface GraphOptions {
  /** Export conditions besides `import` or `require`, and `default`. */
  readonly conditions: readonly string[];
  /** Use the `browser` field of packages without `exports`, as bundlers for browsers and Workers do. */
  readonly browserField?: boolean;
  /** Omit modules that only a dynamic `import()` loads. */
  readonly staticOnly?: boolean;
  /** Do not follow these specifiers. */
  readonly skip?: readonly string[];
}

/** A reachable module: its file, or the bare name of a builtin or of a package that is not installed. */
export interface ReachedModule {
  readonly id: string;
  readonly kind: "file" | "builtin" | "missing";
  /** The path from the entry to this module, both included. */
  readonly chain: readonly string[];
}

type Json = string | boolean | null | readonly Json[] | { readonly [key: string]: Json };
interface Manifest {
  readonly home: string;
  readonly exports?: Json;
  readonly imports?: { readonly [key: string]: Json };
  readonly browser?: Json;
  readonly main?: string;
  readonly module?: string;
}

const manifests = new Map<string, Manifest | undefined>();
const statements = new Map<string, readonly ImportStatement[]>();

/** Every module reachable from `entry`, once, with its shortest chain. */
export function walkModules(entry: string, options: GraphOptions): ReachedModule[] {
  const reached = new Map<string, ReachedModule>();
  const queue: ReachedModule[] = [{ id: entry, kind: "file", chain: [entry] }];
  for (let module = queue.shift(); module; module = queue.shift()) {
    if (reached.has(module.id)) continue;
    reached.set(module.id, module);
    if (module.kind !== "file" || !/\.[cm]?js$/.test(module.id)) continue;
    for (const { specifier, kind, isRequire } of importsOf(module.id)) {
      if (kind === "type" || (options.staticOnly && kind === "dynamic")) continue;
      if (options.skip?.includes(specifier)) continue;
      const found = resolveModule(specifier, module.id, { ...options, isRequire });
      if (found) queue.push({ ...found, chain: [...module.chain, found.id] });
    }
  }
  return [...reached.values()];
}

function resolveModule(
  specifier: string,
  from: string,
  options: GraphOptions & { isRequire: boolean },
): Pick<ReachedModule, "id" | "kind"> | undefined {
  const conditions = new Set([...options.conditions, options.isRequire ? "require" : "import", "default"]);
  const replaced = options.browserField ? browserReplacement(specifier, from) : undefined;
  if (replaced === false) return undefined;
  if (replaced !== undefined) return resolveModule(replaced, from, { ...options, browserField: false });
  const found = (path: string | undefined) => asModule(path, specifier, options);
  if (specifier.startsWith("#")) {
    const manifest = manifestAbove(from);
    const target = manifest && matchSubpath(manifest.imports ?? {}, specifier, conditions);
    if (!manifest || !target) return { id: specifier, kind: "missing" };
    return target.startsWith(".") ? found(join(manifest.home, target)) : resolveModule(target, from, options);
  }
  if (isBuiltin(specifier)) return { id: specifier, kind: "builtin" };
  if (specifier.startsWith(".")) return found(resolve(dirname(from), specifier));
  return found(findInPackage(specifier, from, conditions, options));
}

function findInPackage(specifier: string, from: string, conditions: Set<string>, options: GraphOptions) {
  const [, name = "", rest = ""] = /^((?:@[^/]+\/)?[^/]+)(.*)$/.exec(specifier) ?? [];
  for (let folder = dirname(from); ; folder = dirname(folder)) {
    const home = join(folder, "node_modules", name);
    const manifest = existsSync(home) ? readManifest(home) : undefined;
    if (manifest) {
      if (manifest.exports !== undefined && manifest.exports !== null) {
        const target = matchSubpath(asSubpaths(manifest.exports), `.${rest}`, conditions);
        return target && join(home, target);
      }
      if (rest) return join(home, rest);
      const browser = options.browserField && typeof manifest.browser === "string" && manifest.browser;
      return join(home, browser || manifest.module || manifest.main || "index.js");
    }
    if (folder === dirname(folder)) return undefined;
  }
}

/** `exports` may be one target instead of a map from subpath to target. */
function asSubpaths(exports: Json): { readonly [key: string]: Json } {
  if (typeof exports === "object" && exports !== null && !Array.isArray(exports)) {
    const map = exports as { readonly [key: string]: Json };
    if (Object.keys(map).every((key) => key.startsWith("."))) return map;
  }
  return { ".": exports };
}

function matchSubpath(map: { readonly [key: string]: Json }, subpath: string, conditions: Set<string>) {
  const exact = map[subpath];
  if (exact !== undefined) return chooseTarget(exact, conditions);
  for (const [pattern, target] of Object.entries(map)) {
    const [head = "", end] = pattern.split("*");
    if (end === undefined || !subpath.startsWith(head) || !subpath.endsWith(end)) continue;
    const star = subpath.slice(head.length, subpath.length - end.length);
    return chooseTarget(target, conditions)?.replaceAll("*", star);
  }
  return undefined;
}

function chooseTarget(target: Json, conditions: Set<string>): string | undefined {
  if (typeof target === "string") return target;
  if (Array.isArray(target)) return target.map((one) => chooseTarget(one, conditions)).find((one) => one);
  if (typeof target !== "object" || target === null) return undefined;
  for (const [condition, inner] of Object.entries(target)) {
    const chosen = conditions.has(condition) ? chooseTarget(inner, conditions) : undefined;
    if (chosen) return chosen;
  }
  return undefined;
}

/** The object form of `browser` maps a package's dependencies or its own files to others, or to nothing. */
function browserReplacement(specifier: string, from: string): string | false | undefined {
  const map = browserMapAbove(from)?.map;
  const value = map && !specifier.startsWith(".") ? map[specifier] : undefined;
  return value === false || typeof value === "string" ? value : undefined;
}

function asModule(path: string | undefined, specifier: string, options: GraphOptions) {
  const file = path && findFile(path);
  if (!file) return { id: specifier, kind: "missing" } as const;
  const own = options.browserField ? browserMapAbove(file) : undefined;
  for (const [key, value] of Object.entries(own?.map ?? {})) {
    if (!own || !key.startsWith(".") || findFile(join(own.home, key)) !== file) continue;
    if (value === false) return undefined;
    if (typeof value === "string")
      return { id: findFile(join(own.home, value)) ?? value, kind: "file" } as const;
  }
  return { id: file, kind: "file" } as const;
}

function browserMapAbove(file: string) {
  const manifest = manifestAbove(file);
  const map = manifest?.browser;
  if (!manifest || typeof map !== "object" || map === null || Array.isArray(map)) return undefined;
  return { home: manifest.home, map: map as { readonly [key: string]: Json } };
}

function findFile(path: string): string | undefined {
  return [path, `${path}.js`, `${path}.cjs`, `${path}.json`, join(path, "index.js")].find((candidate) =>
    statSync(candidate, { throwIfNoEntry: false })?.isFile(),
  );
}

function manifestAbove(file: string): Manifest | undefined {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const manifest = readManifest(folder);
    // A package.json with only `type` sets the module system of one folder; it is not a package.
    if (manifest && ("imports" in manifest || "exports" in manifest || "main" in manifest)) return manifest;
    if (folder === dirname(folder)) return undefined;
  }
}

function readManifest(home: string): Manifest | undefined {
  if (!manifests.has(home)) {
    const path = join(home, "package.json");
    manifests.set(home, existsSync(path) ? { ...JSON.parse(readFileSync(path, "utf8")), home } : undefined);
  }
  return manifests.get(home);
}

function importsOf(file: string): readonly ImportStatement[] {
  const known = statements.get(file);
  if (known) return known;
  const found = findImports(file, readFileSync(file, "utf8"));
  statements.set(file, found);
  return found;
}
