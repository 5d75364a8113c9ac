/** Servers of a project's file: nothing of them is expanded, read, started or contacted before the user has agreed. */
import { describeWritten } from "../node/describe-written.js";
import { filesOf, writtenForm } from "../node/expand-server.js";
import type { WrittenServer } from "../node/read-servers.js";
import { type ConfiguredServer, type Trust, TrustRecords } from "../node/trust-records.js";
import type { Store } from "../state/store.js";
import { hideCredentials } from "../util/redact-text.js";
import { CliError } from "./cli-error.js";
import { EXIT } from "./exit-codes.js";
import { shellWord } from "./next-command.js";
import { indented } from "./plain-text.js";
import type { Shell } from "./shell.js";

/** A server that the user has not agreed to as it is now. */
interface Asking {
  readonly server: WrittenServer;
  readonly known: Exclude<Trust, "trusted">;
}

export interface ConsentParts {
  readonly shell: Shell;
  /** Options of this command line that say which files and which state are meant. */
  readonly options: readonly string[];
  /** The command that runs. */
  readonly command: string;
}

/** The answers of one command: a server is asked about once. */
export class Consent {
  readonly #parts: ConsentParts;
  readonly #agreed = new Set<WrittenServer>();
  readonly #refused = new Map<WrittenServer, Asking>();

  constructor(parts: ConsentParts) {
    this.#parts = parts;
  }

  /** The user wrote the entry, or saw it before it was written. */
  async give(servers: readonly WrittenServer[]): Promise<void> {
    if (servers.length === 0) return;
    const trust = new TrustRecords((await this.#parts.shell.openStore()).store);
    for (const server of servers) {
      await trust.trust(configured(server));
      this.#agreed.add(server);
    }
  }

  /**
   * Asks one question about all servers that need one. Returns those that must not be used.
   *
   * @param mayAsk false: only what was agreed to before counts
   */
  async ask(servers: readonly WrittenServer[], { mayAsk }: { mayAsk: boolean }): Promise<Refusals> {
    const { shell } = this.#parts;
    const open = servers.filter((server) => !this.#agreed.has(server) && !this.#refused.has(server));
    const store = open.length === 0 ? undefined : await openStore(shell);
    const trust = store && new TrustRecords(store);
    const asking: Asking[] = [];
    for (const server of open) {
      // A record that cannot be opened proves no consent.
      const known = (await trust?.check(configured(server)).catch(() => undefined)) ?? "unknown";
      if (known === "trusted") this.#agreed.add(server);
      else asking.push({ server, known });
    }
    if (asking.length > 0 && mayAsk && (await this.#confirm(asking))) {
      for (const { server } of asking) {
        await trust?.trust(configured(server));
        this.#agreed.add(server);
      }
    } else if (mayAsk) for (const one of asking) this.#refused.set(one.server, one);
    const refused = mayAsk ? servers.flatMap((server) => this.#refused.get(server) ?? []) : asking;
    return this.#refusals(refused);
  }

  async #confirm(asking: readonly Asking[]): Promise<boolean> {
    const { shell } = this.#parts;
    const names = asking.map(({ server }) => JSON.stringify(server.name)).join(", ");
    if (shell.agreesToAll) {
      if (!shell.isQuiet) shell.tell(`Agreed to ${names}`, "dim");
      return true;
    }
    if (shell.isInteractive || !shell.isQuiet) this.#show(asking);
    return shell.isInteractive && shell.confirm(`Allow ${names}?`);
  }

  #show(asking: readonly Asking[]): void {
    const { shell } = this.#parts;
    shell.tell(
      `${asking.length === 1 ? "This server comes" : `These ${asking.length} servers come`} with the project. Nothing of what is shown is used before you agree:`,
      "yellow",
    );
    for (const { server, known } of asking) {
      shell.tell("");
      shell.tell(`${place(server)}${known === "unknown" ? "" : `: ${WHY[known]}`}`, "bold");
      const text = indented(describeWritten(server));
      // What is not read on a terminal ends up in a log.
      shell.tell((shell.isInteractive ? text : hideCredentials(text)).split("\n"));
    }
    shell.tell("");
  }

  async #refusals(refused: readonly Asking[]): Promise<Refusals> {
    const error = async (asking: readonly Asking[]) =>
      new CliError({
        code: "NOT_TRUSTED",
        exitCode: EXIT.configuration,
        message: messageOf(asking),
        next: await this.#commandFor(asking),
        ...(asking.length === 1 && { server: asking[0]!.server.name }),
      });
    const byName = new Map<string, CliError>();
    for (const one of refused) byName.set(one.server.name, await error([one]));
    return { byName, all: refused.length === 0 ? undefined : await error(refused) };
  }

  /**
   * `list`, because `--yes` means nothing else there. Without state, consent holds for one command only. A name that
   * looks like an option would change what the line means.
   */
  async #commandFor(asking: readonly Asking[]): Promise<string> {
    const { shell, options, command } = this.#parts;
    const { statePath } = await shell.openStore().catch(() => ({ statePath: undefined }));
    const names = asking.map(({ server }) => server.name);
    const canList = statePath !== undefined && names.every((name) => !name.startsWith("-"));
    const words = canList ? ["list", ...names.map(shellWord)] : [command, "…"];
    return ["toolport", ...words, ...options.map(shellWord), "--yes"].join(" ");
  }
}

/** Servers that must not be used. */
export interface Refusals {
  readonly byName: ReadonlyMap<string, CliError>;
  /** One error for all of them; undefined if there is none. */
  readonly all: CliError | undefined;
}

/** State that cannot be used remembers nothing, but is no reason to stop: `doctor` reports it. */
const openStore = async (shell: Shell): Promise<Store | undefined> =>
  (await shell.openStore().catch(() => undefined))?.store;

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
  filesChanged: "a file of the project that it reads has changed since you agreed to it",
};

function messageOf(asking: readonly Asking[]): string {
  const [first] = asking;
  if (asking.length === 1 && first !== undefined)
    return `The server ${place(first.server)} is not used: ${WHY[first.known]}`;
  const places = asking.map(({ server }) => place(server)).join(", ");
  return `${asking.length} servers are not used, because you have not agreed to them as they are now: ${places}`;
}
