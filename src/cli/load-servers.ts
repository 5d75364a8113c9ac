/** Reads the servers of the files that `--config` names, or of those that are found, and expands those that may be used. */
import { resolve } from "node:path";
import { ConfigError } from "../errors/config-error.js";
import type { ConfigInput } from "../node/config-inputs.js";
import { checkWritten } from "../node/expand-server.js";
import {
  expandConfig,
  type LoadConfigOptions,
  type ReadConfig,
  readConfig,
  winnersOf,
} from "../node/load-config.js";
import type { WrittenServer } from "../node/read-servers.js";
import { CliError } from "./cli-error.js";
import { Consent, type ConsentParts } from "./consent.js";
import { EXIT } from "./exit-codes.js";
import { shellWord } from "./next-command.js";
import type { LoadedServers, Shell, WrittenServers } from "./shell.js";

export interface ServerLoader {
  /** Reads the files once; nothing of their entries is expanded. */
  read(): Promise<WrittenServers>;
  /** Expands servers, after the user agreed to those of a project's file. */
  load(names?: readonly string[], options?: { mayAsk?: boolean }): Promise<LoadedServers>;
  /** Remembers that the user wrote these servers, or saw them before they were written. */
  trust(names: readonly string[], file: string): Promise<void>;
}

/** @param paths what `--config` names; none: the files of this project and this user */
export function createServerLoader(paths: readonly string[], parts: ConsentParts): ServerLoader {
  const { shell } = parts;
  const consent = new Consent(parts);
  let reading: Promise<ReadConfig> | undefined;
  const readOnce = () => {
    reading ??= readFiles(shell, paths);
    return reading;
  };

  const loader: ServerLoader = {
    async read() {
      const config = await readOnce();
      const { files, issues } = await expandConfig(config, { onProblem: "report", isUsed: () => false });
      const servers = [...winnersOf(config)].filter(([, server]) => isSound(server));
      return { servers: new Map(servers), files, issues };
    },
    async load(names, { mayAsk = true } = {}) {
      const config = await readOnce();
      const winners = [...winnersOf(config).values()].filter(isSound);
      const wanted = winners.filter(({ name }) => names?.includes(name) ?? true);
      const foreign = wanted.filter(({ source }) => source.scope === "project");
      const off = foreign.filter(({ isEnabled }) => !isEnabled);
      const { byName, all } = await consent.ask(
        foreign.filter(({ isEnabled }) => isEnabled),
        { mayAsk },
      );
      const leftOut = new Map([...off.map(({ name }) => [name, disabledServer(name)] as const), ...byName]);
      const used = new Set(wanted.filter(({ name }) => !leftOut.has(name)));
      return {
        config: await expandConfig(config, { onProblem: "report", isUsed: (server) => used.has(server) }),
        sources: Object.fromEntries(wanted.map(({ name, source }) => [name, source])),
        leftOut,
        refusal: all,
      };
    },
    async trust(names, file) {
      const servers = [...winnersOf(await readOnce()).values()];
      await consent.give(
        servers.filter(
          ({ name, source }) => names.includes(name) && source.file === file && source.scope === "project",
        ),
      );
    },
  };
  return loader;
}

/** @throws ConfigError if a file that the user named cannot be read */
async function readFiles(shell: Shell, paths: readonly string[]): Promise<ReadConfig> {
  const { cwd, env } = shell;
  const inputs = (input: ConfigInput) => answer(shell, input);
  const home = env["HOME"] || env["USERPROFILE"];
  const options: LoadConfigOptions = { cwd, env, inputs, ...(home && { home }) };
  if (paths.length === 0) {
    const { found } = await readConfig(undefined, { ...options, scope: "all" });
    // That there is no file at all is no fault of a file.
    return { found, issues: [] };
  }
  const read: ReadConfig[] = [];
  for (const path of paths) read.push(await readConfig(resolve(cwd, path), options));
  const found = read.flatMap((config) => config.found);
  const unreadable = found.flatMap(({ issues }) => issues).filter(({ path }) => path === "");
  if (unreadable.length > 0)
    throw new ConfigError({
      code: "UNREADABLE_CONFIG",
      what: `The configuration file${unreadable.length > 1 ? "s" : ""} cannot be read`,
      issues: unreadable,
    });
  return { found, issues: read.flatMap(({ issues }) => issues) };
}

/** Nothing is wrong with it, as far as that can be said without expanding it. */
const isSound = (server: WrittenServer): boolean =>
  checkWritten(server).issues.length === 0 && server.issues.length === 0;

export const disabledServer = (name: string): CliError =>
  new CliError({
    code: "DISABLED",
    message: `The server ${JSON.stringify(name)} is disabled in its file`,
    next: `toolport enable ${shellWord(name)}`,
    exitCode: EXIT.configuration,
    server: name,
  });

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
