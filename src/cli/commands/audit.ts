/** `toolport audit verify`: checks an audit log of `toolport serve` with the keys of its gateway. */

import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { type AuditReport, verifyAudit } from "../../serve/audit/verify-audit.js";
import { GATEWAY_KEYS_RECORD, loadGatewayKeys } from "../../serve/replicas/gateway-key.js";
import { createSeal } from "../../serve/replicas/seal.js";
import type { CommandContext, CommandSpec, RunCommand } from "../command.js";
import { text } from "../command-options.js";
import { CliError, configurationError, EXIT } from "../errors.js";
import { openSharedStore } from "../open-store.js";
import { plainLine, plural } from "../plain-text.js";

export const auditCommand: CommandSpec = {
  name: "audit",
  summary: "Check an audit log of a gateway",
  group: "program",
  positionals: [
    {
      name: "action",
      summary: "verify: name the first line that was changed, removed or moved",
      completes: "none",
      choices: ["verify"],
    },
    { name: "file", summary: "The log; older parts of it first", completes: "file", rest: true },
  ],
  options: {
    store: text("<url>", "The store that the gateway uses ($TOOLPORT_STORE, or the state of this machine)"),
  },
  examples: [
    ["toolport audit verify audit.ndjson", "exit code 1 if a line is wrong"],
    ["toolport audit verify audit.ndjson.1 audit.ndjson", "a log in two files"],
  ],
  load: async () => (await import("./audit.js")).runAudit,
};

export const runAudit: RunCommand = async (context) => {
  const [, ...files] = context.words;
  if (files.length === 0) throw new CliError("Name the audit log", "toolport audit verify audit.ndjson");
  const mac = await openKeys(context, context.text("store") ?? (context.env["TOOLPORT_STORE"] || undefined));
  const log = new AuditLog(files.map((file) => ({ name: file, path: resolve(context.cwd, file) })));
  const report = await verifyAudit(log.chunks(), mac);
  show(report, log, context);
  return report.problem === undefined ? EXIT.ok : EXIT.other;
};

/** Reads the keys, and creates none: new ones would verify nothing. */
async function openKeys(context: CommandContext, url: string | undefined) {
  const { store, statePath } = url === undefined ? await context.openStore() : await openShared(context, url);
  if ((await store.get(GATEWAY_KEYS_RECORD)) === undefined)
    throw configurationError(
      "NO_KEYS",
      `The ${url === undefined ? `state ${statePath === undefined ? "in memory" : `in ${statePath}`}` : "store"} has no keys of a gateway`,
      "toolport audit verify <file> --state <path> (or --store <url>), as the gateway has it",
    );
  const keys = await loadGatewayKeys(store);
  context.onExit(() => keys.close());
  return createSeal(keys).mac;
}

async function openShared(context: CommandContext, url: string) {
  const store = await openSharedStore(url);
  context.onExit(() => store.close());
  return { store, statePath: undefined };
}

/** Several files as one log. */
class AuditLog {
  readonly #files: readonly { readonly name: string; readonly path: string }[];
  /** Line breaks of each file that was read. */
  readonly #breaks: number[] = [];

  constructor(files: readonly { readonly name: string; readonly path: string }[]) {
    this.#files = files;
  }

  async *chunks(): AsyncGenerator<string> {
    for (const [index, { name, path }] of this.#files.entries()) {
      let last = "\n";
      this.#breaks[index] = 0;
      try {
        for await (const chunk of createReadStream(path, { encoding: "utf8" }) as AsyncIterable<string>) {
          for (let at = chunk.indexOf("\n"); at >= 0; at = chunk.indexOf("\n", at + 1)) this.#breaks[index]++;
          last = chunk;
          yield chunk;
        }
      } catch (error) {
        const { code = "unknown error" } = error as { code?: string };
        throw new CliError(`${name} cannot be read (${code})`, undefined, { code: "UNREADABLE" });
      }
      // A line that was cut off does not continue in the next file.
      if (!last.endsWith("\n") && index + 1 < this.#files.length) {
        this.#breaks[index]++;
        yield "\n";
      }
    }
  }

  /** A line counted over all files, as file and line. */
  place(line: number): { readonly file: string; readonly line: number } {
    let before = 0;
    for (const [index, { name }] of this.#files.entries()) {
      const breaks = this.#breaks[index] ?? 0;
      if (line - before <= breaks || index + 1 === this.#files.length)
        return { file: name, line: line - before };
      before += breaks;
    }
    return { file: "", line };
  }
}

function show(report: AuditReport, log: AuditLog, context: CommandContext): void {
  const { problem, lines, chains, openChains, cutLines, lostRequests } = report;
  const place = problem && log.place(problem.line);
  if (context.form === "json") {
    context.printJson({ ...report, ...(problem && { problem: { ...problem, ...place } }) });
    return;
  }
  if (problem !== undefined) {
    const what = problem.message.replace(/^Line \d+ /, "");
    context.print(plainLine(`${place!.file}:${place!.line}: ${problem.kind}: this line ${what}`));
    context.info(`The ${lines} lines before it are as they were written`);
    return;
  }
  context.print(`${lines} lines in ${plural(chains, "chain")} are as they were written`);
  if (openChains > 0) context.info(`${openChains} chains have no end: the gateway runs, or it was killed`);
  if (cutLines > 0) context.info(`${cutLines} lines were cut off when a gateway was killed`);
  if (lostRequests > 0) context.warn(`${lostRequests} requests could not be written; the log counts them`);
}
