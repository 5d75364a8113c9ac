/**
 * Reads the servers of the `--config` files, or of the files found, and expands the servers that may be used. Before the user agrees to a
 * server of a project file, nothing of its entry is expanded, read, started or contacted.
 */
import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { ConfigError, type ConfigIssue, hideCredentials, isRecord, suggest } from "@toolport/base";
import { parseJsonConfig, valueAt } from "@toolport/base/json-config";
import {
  type CommandDescription,
  type ConfigInput,
  type ConfiguredServer,
  describeCommand,
  findConfigs,
  type LoadConfigOptions,
  ownConfigFile,
  type Trust,
  TrustRecords,
} from "@toolport/config";
import {
  checkWritten,
  describeWritten,
  effectiveServers,
  expandConfig,
  filesOf,
  type ReadConfig,
  readConfig,
  readDocument,
  readGiven,
  type WrittenServer,
  writtenForm,
} from "@toolport/config/internal";
import type { ServerEntry } from "@toolport/core";
import type { Store } from "@toolport/stores";
import {
  type CommandContext,
  type LoadedServers,
  locationOptions,
  type TypedServers,
  type WrittenServers,
} from "./command.js";
import { type CliError, configurationError } from "./errors.js";
import { indented, plainLine } from "./plain-text.js";
import { shellWord } from "./shell-words.js";

export type ServerLoader = ReturnType<typeof createServerLoader>;

export function createServerLoader(context: CommandContext) {
  const consent = createConsent(context);
  let reading: Promise<ReadConfig> | ReadConfig | undefined;
  const readOnce = async () => {
    reading ??= context.typed === undefined ? readFiles(context) : readTyped(context, context.typed);
    return reading;
  };

  return {
    /** Reads the files once, without expanding any entry. */
    async read(): Promise<WrittenServers> {
      const config = await readOnce();
      const { files, issues } = await expandConfig(config, { onProblem: "report", isUsed: () => false });
      const servers = [...effectiveServers(config)].filter(([, server]) => isSound(server));
      return { servers: new Map(servers), files, issues };
    },
    /** Expands servers. Asks for consent to servers of a project file first. */
    async load(
      names?: readonly string[],
      { mayAsk = true }: { mayAsk?: boolean } = {},
    ): Promise<LoadedServers> {
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
    /** Saves the user's consent to these servers of a file. */
    async trust(names: readonly string[], file: string): Promise<void> {
      const servers = [...effectiveServers(await readOnce()).values()];
      await consent.give(
        servers.filter(
          ({ name, source }) => names.includes(name) && source.file === file && source.scope === "project",
        ),
      );
    },
  };
}

/** Name of the command line in messages, in place of a file. */
export const TYPED_SOURCE = "(command line)";

/** Only the servers that the user typed: no file is read, and none of them needs consent. */
function readTyped({ surroundings }: CommandContext, { entries }: TypedServers): ReadConfig {
  const document = parseJsonConfig(TYPED_SOURCE, JSON.stringify({ mcpServers: entries }));
  const read = readGiven(document, surroundings, "toolport");
  return { found: [{ ...read, file: TYPED_SOURCE, imports: [], isRead: false }], issues: [] };
}

/** @throws ConfigError if a file of `--config` cannot be read */
async function readFiles(context: CommandContext): Promise<ReadConfig> {
  const { cwd } = context;
  const paths = context.texts("config");
  const inputs = (input: ConfigInput) => askForInput(context, input);
  const options: LoadConfigOptions = { ...context.surroundings, inputs };
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
  configurationError(
    "DISABLED",
    `The server ${JSON.stringify(name)} is disabled in its file`,
    `toolport enable ${shellWord(name)}`,
    name,
  );

/** The error for an unknown server, or for one with an invalid entry. */
export function unknownServer(
  name: string,
  names: readonly string[],
  { issues, command = "list" }: { issues: readonly ConfigIssue[]; command?: string },
): Error {
  const own = issues.filter(({ path }) => path.includes(name));
  if (own.length > 0) return new ConfigError({ code: "INVALID_CONFIG", issues: own, server: name });
  const [close] = suggest(name, names, 1);
  return configurationError(
    "UNKNOWN_SERVER",
    `There is no server ${JSON.stringify(name)}${close === undefined ? "" : `. Did you mean ${close}?`}`,
    close === undefined ? "toolport list" : `toolport ${command} ${shellWord(close)}`,
    name,
  );
}

/** Key prefix of servers that programs added at run time. */
const SAVED_PREFIX = "servers//";

export async function savedNames(store: Store): Promise<string[]> {
  const keys = await store.list(SAVED_PREFIX);
  return keys.map((key) => decodeURIComponent(key.slice(SAVED_PREFIX.length)));
}

/** Asks the user for an input of a configuration file. The question names the file. */
async function askForInput(context: CommandContext, input: ConfigInput): Promise<string | undefined> {
  const { id, file, description, password, options } = input;
  const saved = await readSavedInput(context, { file, id });
  if (saved !== undefined && (options?.includes(saved) ?? true)) return saved;
  if (!context.isInteractive) return undefined;
  const choices = options === undefined ? "" : ` (${options.join(", ")})`;
  const preset = input.default === undefined ? "" : ` [${password ? "preset" : input.default}]`;
  const question = `${file} asks for ${description ?? id}${choices}${preset}: `;
  const answer = await context.ask(question, { isSecret: password });
  if (answer === undefined || answer === "") return undefined;
  if (options?.includes(answer) ?? true) await saveInput(context, { file, id }, answer);
  return answer;
}

/** A server whose current entry has no consent. */
interface PendingConsent {
  readonly server: WrittenServer;
  readonly known: Exclude<Trust, "trusted">;
}

/** Consent during one command. The user is asked once about each server. */
function createConsent(context: CommandContext) {
  const agreed = new Set<WrittenServer>();
  const declined = new Map<WrittenServer, PendingConsent>();
  const save = async (trust: TrustRecords | undefined, server: WrittenServer) => {
    await trust?.trust(configured(server));
    agreed.add(server);
  };
  return {
    /** Saves consent without asking: the user wrote the entry or confirmed it before. */
    async give(servers: readonly WrittenServer[]): Promise<void> {
      if (servers.length === 0) return;
      const trust = new TrustRecords((await context.openStore()).store);
      for (const server of servers) await save(trust, server);
    },
    /**
     * Asks one question about all servers without consent. Returns errors for the servers that must not be used.
     *
     * @param mayAsk false: use saved consent only
     */
    async ask(servers: readonly WrittenServer[], { mayAsk }: { mayAsk: boolean }) {
      const open = servers.filter((server) => !agreed.has(server) && !declined.has(server));
      const store = open.length === 0 ? undefined : await openStore(context);
      const trust = store && new TrustRecords(store);
      const asking: PendingConsent[] = [];
      for (const server of open) {
        // An unreadable record is no proof of consent.
        const known = (await trust?.check(configured(server)).catch(() => undefined)) ?? "unknown";
        if (known === "trusted") agreed.add(server);
        else asking.push({ server, known });
      }
      if (!mayAsk) return toErrors(asking, context);
      const isAgreed = asking.length > 0 && (await confirmAll(asking, context));
      for (const pending of asking)
        if (isAgreed) await save(trust, pending.server);
        else declined.set(pending.server, pending);
      const left = servers.flatMap((server) => declined.get(server) ?? []);
      return toErrors(left, context);
    },
  };
}

async function confirmAll(asking: readonly PendingConsent[], context: CommandContext): Promise<boolean> {
  const names = asking.map(({ server }) => JSON.stringify(server.name)).join(", ");
  if (context.agreesToAll) {
    if (!context.isQuiet) context.info(`Agreed to ${names}`, "dim");
    return true;
  }
  if (context.isInteractive || !context.isQuiet) showAll(asking, context);
  return context.isInteractive && context.confirm(`Allow ${names}?`);
}

function showAll(asking: readonly PendingConsent[], context: CommandContext): void {
  const title = asking.length === 1 ? "This server comes" : `These ${asking.length} servers come`;
  context.info(`${title} with the project. Toolport uses nothing of it before you agree:`, "yellow");
  for (const { server, known } of asking) {
    context.info("");
    context.info(`${place(server)}${known === "unknown" ? "" : `: ${WHY[known]}`}`, "bold");
    const text = indented(describeWritten(server));
    // Without a terminal the output may end up in a log.
    context.info((context.isInteractive ? text : hideCredentials(text)).split("\n"));
  }
  context.info("");
}

/** One error for each server, and one for all of them. */
async function toErrors(declined: readonly PendingConsent[], context: CommandContext) {
  const error = async (asking: readonly PendingConsent[]) =>
    configurationError(
      "NOT_TRUSTED",
      messageOf(asking),
      await commandFor(asking, context),
      asking.length === 1 ? asking[0]!.server.name : undefined,
    );
  const byName = new Map<string, CliError>();
  for (const one of declined) byName.set(one.server.name, await error([one]));
  return { byName, all: declined.length === 0 ? undefined : await error(declined) };
}

/**
 * Suggests `list`, because `--yes` has no other effect there. Without a state file, consent is valid for one command only, so
 * the command itself is suggested. The same applies to a name that looks like an option.
 */
async function commandFor(asking: readonly PendingConsent[], context: CommandContext): Promise<string> {
  const { statePath } = await context.openStore().catch(() => ({ statePath: undefined }));
  const names = asking.map(({ server }) => server.name);
  const canList = statePath !== undefined && names.every((name) => !name.startsWith("-"));
  const words = canList ? ["list", ...names.map(shellWord)] : [context.command.name, "…"];
  return ["toolport", ...words, ...locationOptions(context).map(shellWord), "--yes"].join(" ");
}

/** Unusable state is treated as no saved consent. `doctor` reports the problem. */
const openStore = async (context: CommandContext): Promise<Store | undefined> =>
  (await context.openStore().catch(() => undefined))?.store;

const configured = (server: WrittenServer): ConfiguredServer => ({
  name: server.name,
  file: server.source.file,
  entry: writtenForm(server),
  readFiles: () => filesOf(server),
});

const place = ({ name, source: { file, line } }: WrittenServer): string =>
  `${JSON.stringify(name)} of ${file}:${line}`;

const WHY: Readonly<Record<Exclude<Trust, "trusted">, string>> = {
  unknown: "you have not agreed to it",
  changed: "it has changed since you agreed to it",
  filesChanged: "a project file that it reads has changed since you agreed to it",
};

function messageOf(asking: readonly PendingConsent[]): string {
  const [first] = asking;
  if (asking.length === 1 && first !== undefined)
    return `The server ${place(first.server)} is not used: ${WHY[first.known]}`;
  const places = asking.map(({ server }) => place(server)).join(", ");
  return `${asking.length} servers are not used, because you have not agreed to them as they are now: ${places}`;
}

interface InputPlace {
  readonly file: string;
  readonly id: string;
}

type StoreContext = Pick<CommandContext, "openStore">;

/** The saved answer; undefined if there is none, or if it is not sealed. */
export async function readSavedInput(context: StoreContext, place: InputPlace): Promise<string | undefined> {
  const { store } = (await context.openStore().catch(() => undefined)) ?? {};
  // A record that cannot be opened, for example after a change of the key, is asked for again.
  const record = await store?.get(keyOf(place)).catch(() => undefined);
  if (record?.sealed !== true || !isRecord(record.value)) return undefined;
  const { file, id, value } = record.value;
  return file === place.file && id === place.id && typeof value === "string" ? value : undefined;
}

export async function saveInput(context: StoreContext, place: InputPlace, value: string): Promise<void> {
  const { store } = await context.openStore();
  await store.put(keyOf(place), { ...place, value }, { secret: true });
}

/** Deletes the answers that a server uses. Returns how many there were. */
export async function forgetInputs(
  context: StoreContext,
  { source, inputs }: Pick<WrittenServer, "source" | "inputs">,
): Promise<number> {
  const { store } = await context.openStore();
  let count = 0;
  for (const input of inputs) {
    const id = isRecord(input) ? input["id"] : undefined;
    const key = typeof id === "string" ? keyOf({ file: source.file, id }) : undefined;
    if (key === undefined || (await store.get(key)) === undefined) continue;
    await store.delete(key);
    count += 1;
  }
  return count;
}

function keyOf({ file, id }: InputPlace): string {
  const folder = createHash("sha256").update(file).digest("hex").slice(0, 32);
  return `inputs/${folder}/${encodeURIComponent(id)}`;
}

/** The file for a new server: `--config`, the project's file with `--project`, or the user's file. */
export async function ownFileFor(context: CommandContext): Promise<string> {
  const [named] = context.texts("config");
  if (named !== undefined) return asFile(resolve(context.cwd, named));
  if (context.flag("project")) return join(context.cwd, "toolport.json");
  return ownConfigFile(context.surroundings);
}

/** All own files that this command may change, in order of precedence. */
async function ownFiles(context: CommandContext): Promise<string[]> {
  const named = context.texts("config");
  if (named.length > 0) return Promise.all(named.map((path) => asFile(resolve(context.cwd, path))));
  const scope = context.flag("project") ? "project" : "all";
  const configs = await findConfigs({ ...context.surroundings, dialects: ["toolport"], scope });
  return configs.map(({ file }) => file);
}

/** The own file that contains a server, even if its entry is invalid. */
export async function findOwnFile(name: string, context: CommandContext): Promise<string | undefined> {
  for (const file of await ownFiles(context)) {
    if (Object.hasOwn(await entriesOf(file), name)) return file;
  }
  return undefined;
}

/** The servers in an own file; none if the file does not exist or is unreadable, which writing to it reports. */
export async function entriesOf(file: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    const servers = valueAt((await readDocument(file)).root, ["mcpServers"]);
    return isRecord(servers) ? servers : {};
  } catch {
    return {};
  }
}

async function asFile(path: string): Promise<string> {
  const entry = await stat(path).catch(() => undefined);
  return entry?.isDirectory() === true ? join(path, "toolport.json") : path;
}

/** Like `describeCommand`. Falls back to the fields of an entry that is incomplete, such as a URL with a variable. */
export function describeEntry(
  entry: unknown,
): Pick<CommandDescription, "command" | "startsProcess" | "text"> {
  try {
    return describeCommand(entry as ServerEntry);
  } catch {
    const { command, args, url, image } = entry as Record<string, unknown>;
    const words = [command, ...(Array.isArray(args) ? args : [])].filter((word) => typeof word === "string");
    const line = plainLine(words.length > 0 ? words.join(" ") : String(url ?? image ?? "(unknown)"));
    const startsProcess = command !== undefined || image !== undefined;
    return { command: line, startsProcess, text: `${startsProcess ? "runs" : "calls"}      ${line}` };
  }
}
