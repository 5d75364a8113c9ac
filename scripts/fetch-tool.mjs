/**
 * Tools that only some scripts need: downloaded from the npm registry into `.cache/` on first use, not listed in
 * package.json, and never with an install script.
 */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const MINIFLARE_VERSION = "4.20260730.0";
const BUN_VERSION = "1.4.4";
const DENO_VERSION = "2.9.6";
const ESBUILD_VERSION = "0.28.2";

export const root = fileURLToPath(new URL("..", import.meta.url));
export const cache = join(root, ".cache");

const windows = process.platform === "win32";

/**
 * The folder of a package, installed in its own folder below `.cache/`. A version may be complete or a major one. `beside`: packages with
 * their versions that are installed into the same folder.
 *
 * Several processes may need it at once. Each installs it into its own draft folder and renames that; the first rename wins. The
 * folder is named after its version and never removed here: another process may be reading it.
 */
export async function fetchTool(folder, name, version, { into = cache, beside = [] } = {}) {
  const prefix = join(into, `${folder}@${version}`);
  const home = join(prefix, "node_modules", name);
  const isThere = () => existsSync(join(home, "package.json"));
  if (isThere()) return home;
  const draft = `${prefix}.${randomUUID()}`;
  try {
    await npmInstall(draft, [`${name}@${version}`, ...beside]);
    await rename(draft, prefix).catch((error) => {
      if (!isThere()) throw new Error(`Remove ${prefix}: it holds no ${name}.`, { cause: error });
    });
    return home;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** A Node of this major version: the current one if it matches, else one from the registry. */
export async function fetchNode(major) {
  if (Number(process.versions.node.split(".")[0]) === major) return process.execPath;
  const name = `node-${windows ? "win" : process.platform}-${process.arch}`;
  return join(await fetchTool("node", name, String(major)), "bin", windows ? "node.exe" : "node");
}

export async function fetchBun() {
  const name = `@oven/bun-${windows ? "windows" : process.platform}-${archOf({ arm64: "aarch64" })}`;
  return join(await fetchTool("bun", name, BUN_VERSION), "bin", windows ? "bun.exe" : "bun");
}

export async function fetchDeno() {
  const libc = process.platform === "linux" ? "-glibc" : "";
  const name = `@deno/${process.platform}-${process.arch}${libc}`;
  return join(await fetchTool("deno", name, DENO_VERSION), windows ? "deno.exe" : "deno");
}

const archOf = (names) => names[process.arch] ?? process.arch;

/** The module of miniflare, which runs workerd. */
export async function fetchMiniflare() {
  const home = await fetchTool("miniflare", "miniflare", MINIFLARE_VERSION);
  return import(pathToFileURL(createRequire(join(home, "package.json")).resolve("miniflare")).href);
}

/** The module of esbuild, which wrangler bundles Workers with. */
export async function fetchEsbuild() {
  const home = await fetchTool("esbuild", "esbuild", ESBUILD_VERSION);
  return import(pathToFileURL(createRequire(join(home, "package.json")).resolve("esbuild")).href);
}

/** Installs packages into the folder `prefix`. */
export async function npmInstall(prefix, packages, { timeoutMs } = {}) {
  console.error(`Fetching ${packages.join(", ")} …`);
  await mkdir(prefix, { recursive: true });
  const options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
  const args = ["install", "--prefix", prefix, ...options, ...packages];
  const npm = process.env.npm_execpath;
  const { code, output } = npm
    ? await run(process.execPath, [npm, ...args], { timeoutMs })
    : await run(windows ? "npm.cmd" : "npm", args, { timeoutMs, shell: windows });
  if (code !== 0)
    throw new Error(`npm could not fetch ${packages.join(", ")} (exit code ${code}).\n${output}`);
}

/** Runs a program and returns its output. Kills it after the time limit. */
export function run(command, args, { timeoutMs, env, shell = false } = {}) {
  return new Promise((resolve, reject) => {
    const stdio = ["ignore", "pipe", "pipe"];
    const child = spawn(command, args, { cwd: root, stdio, timeout: timeoutMs, env, shell });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        output += text;
      });
    }
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code: code ?? 1, signal, output }));
  });
}
