/** Consent to servers of project files. Before the user consents, nothing of an entry is expanded, read, started or contacted. */
import { describeWritten } from "../node/describe-written.js";
import { filesOf, writtenForm } from "../node/expand-server.js";
import type { WrittenServer } from "../node/read-servers.js";
import { type ConfiguredServer, type Trust, TrustRecords } from "../node/trust-records.js";
import type { Store } from "../state/store.js";
import { hideCredentials } from "../util/redact-text.js";
import { CliError } from "./cli-error.js";
import type { CommandContext } from "./command-context.js";
import { EXIT } from "./exit-codes.js";
import { shellWord } from "./next-command.js";
import { indented } from "./plain-text.js";

/** A server whose current entry has no consent. */
interface PendingConsent {
  readonly server: WrittenServer;
  readonly known: Exclude<Trust, "trusted">;
}

export interface ConsentParts {
  readonly context: CommandContext;
  /** The `--config` and `--state` options of this command line. */
  readonly options: readonly string[];
  /** Name of the running command. */
  readonly command: string;
}

/** Consent during one command. The user is asked once about each server. */
export class Consent {
  readonly #parts: ConsentParts;
  readonly #agreed = new Set<WrittenServer>();
  readonly #declined = new Map<WrittenServer, PendingConsent>();

  constructor(parts: ConsentParts) {
    this.#parts = parts;
  }

  /** Saves consent without asking: the user wrote the entry or confirmed it before. */
  async give(servers: readonly WrittenServer[]): Promise<void> {
    if (servers.length === 0) return;
    const trust = new TrustRecords((await this.#parts.context.openStore()).store);
    for (const server of servers) {
      await trust.trust(configured(server));
      this.#agreed.add(server);
    }
  }

  /**
   * Asks one question about all servers without consent. Returns errors for the servers that must not be used.
   *
   * @param mayAsk false: use saved consent only
   */
  async ask(servers: readonly WrittenServer[], { mayAsk }: { mayAsk: boolean }): Promise<ConsentErrors> {
    const { context } = this.#parts;
    const open = servers.filter((server) => !this.#agreed.has(server) && !this.#declined.has(server));
    const store = open.length === 0 ? undefined : await openStore(context);
    const trust = store && new TrustRecords(store);
    const asking: PendingConsent[] = [];
    for (const server of open) {
      // An unreadable record is no proof of consent.
      const known = (await trust?.check(configured(server)).catch(() => undefined)) ?? "unknown";
      if (known === "trusted") this.#agreed.add(server);
      else asking.push({ server, known });
    }
    if (asking.length > 0 && mayAsk && (await this.#confirm(asking))) {
      for (const { server } of asking) {
        await trust?.trust(configured(server));
        this.#agreed.add(server);
      }
    } else if (mayAsk) for (const one of asking) this.#declined.set(one.server, one);
    const declined = mayAsk ? servers.flatMap((server) => this.#declined.get(server) ?? []) : asking;
    return this.#errorsFor(declined);
  }

  async #confirm(asking: readonly PendingConsent[]): Promise<boolean> {
    const { context } = this.#parts;
    const names = asking.map(({ server }) => JSON.stringify(server.name)).join(", ");
    if (context.agreesToAll) {
      if (!context.isQuiet) context.info(`Agreed to ${names}`, "dim");
      return true;
    }
    if (context.isInteractive || !context.isQuiet) this.#show(asking);
    return context.isInteractive && context.confirm(`Allow ${names}?`);
  }

  #show(asking: readonly PendingConsent[]): void {
    const { context } = this.#parts;
    context.info(
      `${asking.length === 1 ? "This server comes" : `These ${asking.length} servers come`} with the project. Toolport uses nothing of it before you agree:`,
      "yellow",
    );
    for (const { server, known } of asking) {
      context.info("");
      context.info(`${place(server)}${known === "unknown" ? "" : `: ${WHY[known]}`}`, "bold");
      const text = indented(describeWritten(server));
      // Without a terminal the output may end up in a log.
      context.info((context.isInteractive ? text : hideCredentials(text)).split("\n"));
    }
    context.info("");
  }

  async #errorsFor(declined: readonly PendingConsent[]): Promise<ConsentErrors> {
    const error = async (asking: readonly PendingConsent[]) =>
      new CliError({
        code: "NOT_TRUSTED",
        exitCode: EXIT.configuration,
        message: messageOf(asking),
        next: await this.#commandFor(asking),
        ...(asking.length === 1 && { server: asking[0]!.server.name }),
      });
    const byName = new Map<string, CliError>();
    for (const one of declined) byName.set(one.server.name, await error([one]));
    return { byName, all: declined.length === 0 ? undefined : await error(declined) };
  }

  /**
   * Suggests `list`, because `--yes` has no other effect there. Without a state file, consent is valid for one command only, so
   * the command itself is suggested. The same applies to a name that looks like an option.
   */
  async #commandFor(asking: readonly PendingConsent[]): Promise<string> {
    const { context, options, command } = this.#parts;
    const { statePath } = await context.openStore().catch(() => ({ statePath: undefined }));
    const names = asking.map(({ server }) => server.name);
    const canList = statePath !== undefined && names.every((name) => !name.startsWith("-"));
    const words = canList ? ["list", ...names.map(shellWord)] : [command, "…"];
    return ["toolport", ...words, ...options.map(shellWord), "--yes"].join(" ");
  }
}

/** Errors for servers that must not be used. */
export interface ConsentErrors {
  readonly byName: ReadonlyMap<string, CliError>;
  /** One error for all of them; undefined if there are none. */
  readonly all: CliError | undefined;
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
