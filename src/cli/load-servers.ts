/** Reads the servers: of the files that `--config` names, or of those that are found for this project and this user. */
import { resolve } from "node:path";
import { ConfigError } from "../errors/config-error.js";
import type { ConfigInput } from "../node/config-inputs.js";
import { type LoadConfigOptions, type LoadedConfig, loadConfig } from "../node/load-config.js";
import type { Shell } from "./shell.js";

/**
 * A bad server costs only itself and is told in `issues`.
 *
 * @throws ConfigError if a file that the user named cannot be read
 */
export async function loadServers(shell: Shell, paths: readonly string[]): Promise<LoadedConfig> {
  const { cwd, env } = shell;
  const inputs = (input: ConfigInput) => answer(shell, input);
  const home = env["HOME"] || env["USERPROFILE"];
  const options: LoadConfigOptions = { cwd, env, inputs, onProblem: "report", ...(home && { home }) };
  if (paths.length === 0) {
    const found = await loadConfig(undefined, { ...options, scope: "all" });
    // That there is no file at all is no fault of a file.
    return { ...found, issues: found.issues.filter(({ file }) => file !== undefined) };
  }
  const loaded: LoadedConfig[] = [];
  for (const path of paths) loaded.push(await loadConfig(resolve(cwd, path), options));
  const unreadable = loaded.flatMap(({ issues }) => issues).filter(({ path }) => path === "");
  if (unreadable.length > 0)
    throw new ConfigError({
      code: "UNREADABLE_CONFIG",
      what: `The configuration file${unreadable.length > 1 ? "s" : ""} cannot be read`,
      issues: unreadable,
    });
  return merge(loaded);
}

/** The first file that has a name wins. */
function merge(loaded: readonly LoadedConfig[]): LoadedConfig {
  const first = loaded[0]!;
  return loaded.slice(1).reduce<LoadedConfig>(
    (sum, next) => ({
      mcpServers: { ...next.mcpServers, ...sum.mcpServers },
      files: [...sum.files, ...next.files],
      sources: { ...next.sources, ...sum.sources },
      issues: [...sum.issues, ...next.issues],
      warnings: [...sum.warnings, ...next.warnings],
    }),
    first,
  );
}

/** A file asks its user for something. Who asks is always said. */
async function answer(shell: Shell, input: ConfigInput): Promise<string | undefined> {
  const { id, file, description, password, options } = input;
  if (!shell.isInteractive) return undefined;
  const choices = options === undefined ? "" : ` (${options.join(", ")})`;
  const preset = input.default === undefined ? "" : ` [${password ? "preset" : input.default}]`;
  const given = await shell.ask(`${file} asks for ${description ?? id}${choices}${preset}: `, {
    isSecret: password,
  });
  return given === "" ? undefined : given;
}
