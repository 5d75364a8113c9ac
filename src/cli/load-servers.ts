/** Reads the servers of the `--config` files, or of the files found, and expands the servers that may be used. */
import { resolve } from "node:path";
import { parseJsonConfig } from "../config/parse-json-config.js";
import { ConfigError } from "../errors/config-error.js";
import type { ConfigInput } from "../node/config-inputs.js";
import { surroundingsOf } from "../node/config-locations.js";
import { dialectOf } from "../node/dialects/dialects.js";
import { checkWritten } from "../node/expand-server.js";
import {
  effectiveServers,
  expandConfig,
  type LoadConfigOptions,
  type ReadConfig,
  readConfig,
} from "../node/load-config.js";
import { readServers, type WrittenServer } from "../node/read-servers.js";
import { CliError } from "./cli-error.js";
import type { CommandContext, LoadedServers, TypedServers, WrittenServers } from "./command-context.js";
import { Consent, type ConsentParts } from "./consent.js";
import { EXIT } from "./exit-codes.js";
import { shellWord } from "./next-command.js";
import { readSavedInput, saveInput } from "./saved-inputs.js";

export interface ServerLoader {
  /** Reads the files once, without expanding any entry. */
  read(): Promise<WrittenServers>;
  /** Expands servers. Asks for consent to servers of a project file first. */
  load(names?: readonly string[], options?: { mayAsk?: boolean }): Promise<LoadedServers>;
  /** Saves the user's consent to these servers of a file. */
  trust(names: readonly string[], file: string): Promise<void>;
}

/** @param paths the values of `--config`; if empty, the files of this project and user are used */
export function createServerLoader(paths: readonly string[], parts: ConsentParts): ServerLoader {
  const { context } = parts;
  const consent = new Consent(parts);
  let reading: Promise<ReadConfig> | undefined;
  const readOnce = () => {
    reading ??= context.typed === undefined ? readFiles(context, paths) : readTyped(context, context.typed);
    return reading;
  };

  const loader: ServerLoader = {
    async read() {
      const config = await readOnce();
      const { files, issues } = await expandConfig(config, { onProblem: "report", isUsed: () => false });
      const servers = [...effectiveServers(config)].filter(([, server]) => isSound(server));
      return { servers: new Map(servers), files, issues };
    },
    async load(names, { mayAsk = true } = {}) {
      const config = await readOnce();
      const winners = [...effectiveServers(config).values()].filter(isSound);
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
        consentError: all,
      };
    },
    async trust(names, file) {
      const servers = [...effectiveServers(await readOnce()).values()];
      await consent.give(
        servers.filter(
          ({ name, source }) => names.includes(name) && source.file === file && source.scope === "project",
        ),
      );
    },
  };
  return loader;
}

/** Name of the command line in messages, in place of a file. */
export const TYPED_SOURCE = "(command line)";

/** Only the servers that the user typed: no file is read, and none of them needs consent. */
async function readTyped({ cwd, env }: CommandContext, { entries }: TypedServers): Promise<ReadConfig> {
  const document = parseJsonConfig(TYPED_SOURCE, JSON.stringify({ mcpServers: entries }));
  const home = env["HOME"] || env["USERPROFILE"];
  const read = readServers(document, dialectOf("toolport"), {
    place: { kind: "toolport", scope: "user", baseDir: cwd, projectDir: undefined },
    surroundings: surroundingsOf({ cwd, env, ...(home && { home }) }),
    inputs: undefined,
    extraKeys: undefined,
    named: true,
  });
  return { found: [{ ...read, file: TYPED_SOURCE, imports: [], isRead: false }], issues: [] };
}

/** @throws ConfigError if a file of `--config` cannot be read */
async function readFiles(context: CommandContext, paths: readonly string[]): Promise<ReadConfig> {
  const { cwd, env } = context;
  const inputs = (input: ConfigInput) => askForInput(context, input);
  const home = env["HOME"] || env["USERPROFILE"];
  const options: LoadConfigOptions = { cwd, env, inputs, ...(home && { home }) };
  if (paths.length === 0) {
    const { found } = await readConfig(undefined, { ...options, scope: "all" });
    // The only possible issue is that no file was found: callers report that themselves.
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

/** The entry has no issues that show without expanding it. */
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

/** Asks the user for an input of a configuration file. The question names the file. */
async function askForInput(context: CommandContext, input: ConfigInput): Promise<string | undefined> {
  const { id, file, description, password, options } = input;
  const saved = await readSavedInput(context, { file, id });
  if (saved !== undefined && (options?.includes(saved) ?? true)) return saved;
  if (!context.isInteractive) return undefined;
  const choices = options === undefined ? "" : ` (${options.join(", ")})`;
  const preset = input.default === undefined ? "" : ` [${password ? "preset" : input.default}]`;
  const given = await context.ask(`${file} asks for ${description ?? id}${choices}${preset}: `, {
    isSecret: password,
  });
  if (given === undefined || given === "") return undefined;
  if (options?.includes(given) ?? true) await saveInput(context, { file, id }, given);
  return given;
}
