/** Chooses short names for servers that the user gives as a URL or a command. */

import { suggestServerName } from "../registry/suggest-server-name.js";
import { canParseUrl } from "../util/can-parse-url.js";

/** Labels of host names that say nothing about the server. */
const GENERIC_LABELS: ReadonlySet<string> = new Set(["mcp", "api", "www", "sse", "app", "server", "remote"]);
/** Public suffixes of two labels, and hosting services whose customers have a label of their own. */
const SUFFIX =
  /\.(?:(?:co|com|org|net|ac|gov|edu)\.[a-z]{2}|workers\.dev|pages\.dev|vercel\.app|netlify\.app|fly\.dev|deno\.dev|onrender\.com|herokuapp\.com|azurewebsites\.net|azurecontainerapps\.io|run\.app|railway\.app|github\.io|ngrok\.io|ngrok\.app|ngrok-free\.app|modal\.run|trycloudflare\.com|[a-z0-9-]+)$/;

/**
 * The label of the host that belongs to the owner of the server.
 *
 * @example
 * ```ts
 * nameFromUrl("https://mcp.linear.app/mcp"); // "linear"
 * nameFromUrl("https://weather.me.workers.dev/sse"); // "weather"
 * ```
 */
export function nameFromUrl(address: string): string {
  const hostname = canParseUrl(address) ? new URL(address).hostname : "";
  if (/^[\d.]+$|^\[|^localhost$/.test(hostname)) return "local";
  const isHosted = /\.(?:workers|pages|vercel|netlify|fly|deno|run|modal)\.(?:dev|app|run)$/.test(hostname);
  const labels = hostname.replace(SUFFIX, "").split(".");
  const specific = labels.filter((label) => !GENERIC_LABELS.has(label));
  // The labels of a hosting service begin with the project, other hosts end with the owner.
  const label = (isHosted ? specific[0] : specific.at(-1)) ?? labels.at(-1) ?? "";
  return suggestServerName(label.replace(/^mcp-|-mcp$/g, ""));
}

/** Programs that run the package, image or file named after them. */
const RUNNERS =
  /^(?:npx|bunx|uvx|pipx|npm|pnpm|yarn|bun|deno|node|tsx|python[\d.]*|uv|docker|podman|java|sh|bash|env|cmd)(?:\.exe|\.cmd)?$/;
const RUNNER_WORDS: ReadonlySet<string> = new Set(["run", "exec", "dlx", "x", "tool", "start", "/c"]);
/** Options of runners that take a value, except those whose value is the program: `-m`, `-jar`. */
const VALUE_OPTION =
  /^(?:-[evpwu]|--(?:env|volume|name|publish|network|mount|workdir|user|from|with|import|require|directory|env-file))$/;
const GENERIC_FILES: ReadonlySet<string> = new Set([
  "index",
  "main",
  "server",
  "cli",
  "app",
  "start",
  "stdio",
]);
const GENERIC_FOLDERS: ReadonlySet<string> = new Set([
  "",
  ".",
  "..",
  "dist",
  "build",
  "src",
  "bin",
  "lib",
  "out",
]);

/**
 * The package, image or file that a command runs, without the words that most servers have in common.
 *
 * @example
 * ```ts
 * nameFromCommand(["npx", "-y", "@modelcontextprotocol/server-everything"]); // "everything"
 * nameFromCommand(["node", "weather/dist/index.js"]); // "weather"
 * ```
 */
export function nameFromCommand(words: readonly string[]): string {
  const program = programOf(words);
  const isFile = /^[./~]|\\|\.(?:[cm]?[jt]s|py|jar|sh|exe)$/.test(program) || /^[a-z]:/i.test(program);
  const last = isFile ? fileName(program) : (program.split("/").at(-1) ?? "");
  const bare = last.replace(/(?<=.)(?:@|:|==).*$/, "").replaceAll("_", "-");
  const short = bare
    .replace(/^(?:mcp-server-|server-|mcp-)(?=.)/, "")
    .replace(/(?<=.)-(?:mcp-server|mcp|server)(?:-(?:node|js|ts|py))?$/, "");
  const isGeneric = short === "mcp" || short === "server";
  const scope = /^@([^/]+)\//.exec(program)?.[1];
  return suggestServerName(isGeneric && scope !== undefined ? scope : short);
}

function programOf([command = "", ...args]: readonly string[]): string {
  const runner = command.split(/[\\/]/).at(-1)?.toLowerCase() ?? "";
  if (!RUNNERS.test(runner)) return command;
  for (let index = 0; index < args.length; index += 1) {
    const word = args[index]!;
    if (VALUE_OPTION.test(word)) index += 1;
    else if (!word.startsWith("-") && !RUNNER_WORDS.has(word) && !RUNNERS.test(word)) return word;
  }
  return command;
}

/** The name of a file without its extension, or of the first folder above it that says more. */
function fileName(path: string): string {
  const parts = path.split(/[\\/]/);
  const name = (parts.pop() ?? "").replace(/\.[a-z]+$/i, "");
  if (!GENERIC_FILES.has(name.toLowerCase())) return name;
  return parts.findLast((part) => !GENERIC_FOLDERS.has(part)) ?? name;
}
