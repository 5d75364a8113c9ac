/** `toolport policy` and `audit`: check the policy of a gateway, show what it decides and by which rule, and check its audit log. */

import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type Policy, type PolicyDecision, type PolicyRequest, readPolicy } from "@toolport/gateway";
import {
  type AuditReport,
  createSeal,
  findingText,
  GATEWAY_KEYS_RECORD,
  loadGatewayKeys,
  readUri,
  reviewRules,
  verifyAudit,
} from "@toolport/gateway/internal";
import { readObject } from "../call-arguments.js";
import type { CommandContext, CommandSpec, RunCommand } from "../command.js";
import { text, texts } from "../command-options.js";
import { CliError, configurationError, EXIT, usageError } from "../errors.js";
import { openSharedStore } from "../open-store.js";
import { plainLine, plural } from "../plain-text.js";

export const policyCommand: CommandSpec = {
  name: "policy",
  summary: "Check a policy of a gateway, or show what it decides",
  group: "program",
  positionals: [
    {
      name: "action",
      summary: "check: find mistakes; test: show what happens to one request, and by which rule",
      choices: ["check", "test"],
    },
    { name: "file", summary: "The policy" },
  ],
  options: {
    user: text("<name>", "The principal; with --issuer the subject of the token"),
    issuer: text("<url>", "The issuer of the user's token"),
    scope: texts("<name>", "A scope of the user's token"),
    server: text("<name>", "The server of the tool, prompt or resource"),
    tool: text("<name>", "Call this tool; without --server the name that clients see"),
    prompt: text("<name>", "Get this prompt"),
    resource: text("<uri>", "Read this resource"),
    args: text("<json>", "The arguments of the tool or prompt"),
  },
  examples: [
    ["toolport policy check policy.json", "exit code 2 if a gateway would not start with it"],
    [
      `toolport policy test policy.json --user alice --server files --tool read --args '{"path":"/etc"}'`,
      "exit code 0: allowed, 3: needs approval, 5: denied",
    ],
  ],
  load: async () => (await import("./policy.js")).runPolicy,
};

const EXIT_OF: Readonly<Record<PolicyDecision["effect"], number>> = {
  allow: EXIT.ok,
  approve: EXIT.authorization,
  deny: EXIT.toolError,
};
const WORDS: Readonly<Record<PolicyDecision["effect"], string>> = {
  allow: "allowed",
  approve: "needs approval",
  deny: "denied",
};

export const runPolicy: RunCommand = async (context) => {
  const [action, file = ""] = context.words;
  const policy = await readFileOf(file, context);
  const servers = [...(await context.readServers()).servers.keys()];
  if (action === "check") return check(policy, servers, context);
  const request = await requestOf(context, servers);
  if (!servers.includes(request.server))
    context.warn(plainLine(`Your configuration has no server ${request.server}`));
  return decide(policy, request, context);
};

/** @throws ConfigError that names every problem of the file */
async function readFileOf(file: string, { cwd }: CommandContext): Promise<Policy> {
  const text = await readFile(resolve(cwd, file), "utf8").catch(({ code = "unknown error" }) => {
    throw configurationError("UNREADABLE_CONFIG", `${file} cannot be read (${code})`);
  });
  return readPolicy(text.replace(/^\uFEFF/, ""), { file });
}

function check(policy: Policy, servers: readonly string[], context: CommandContext): number {
  const { errors, warnings } = reviewRules(policy.source!(), servers);
  const rules = policy.source!().document.rules.length;
  if (context.form === "json") context.printJson({ rules, errors, warnings });
  else {
    for (const [level, findings] of Object.entries({ error: errors, warning: warnings }))
      for (const finding of findings) context.print(plainLine(`${level}: ${findingText(finding)}`));
    if (errors.length === 0) context.print(`${plural(rules, "rule")}: a gateway can start with them`);
  }
  return errors.length === 0 ? EXIT.ok : EXIT.configuration;
}

async function decide(policy: Policy, request: PolicyRequest, context: CommandContext): Promise<number> {
  const decision = await policy.decide(request);
  const { effect, rule = null, reason = null } = decision;
  const place = rule === null ? undefined : policy.source!().locate(["rules", rule - 1]);
  const read = request.uri === undefined ? undefined : readUri(request.uri);
  const problem = read?.problem;
  if (context.form === "json") {
    const line = place?.line ?? null;
    context.printJson({ effect, rule, line, reason, ...(problem && { onlyIfListed: problem }) });
    return EXIT_OF[effect];
  }
  const by = place === undefined ? "the default of the policy" : `rule ${rule} (${place.file}:${place.line})`;
  context.print(plainLine(`${WORDS[effect]} by ${by}`));
  if (reason !== null) context.print(plainLine(`reason: ${reason}`));
  if (problem !== undefined)
    context.warn(`A gateway refuses this URI unless its server lists exactly this text: ${problem}`);
  if (read !== undefined && read.decoded !== read.uri)
    context.warn(plainLine(`Decided about as ${read.uri} and as ${read.decoded}: servers may read both`));
  return EXIT_OF[effect];
}

async function requestOf(context: CommandContext, servers: readonly string[]): Promise<PolicyRequest> {
  const text = (name: string) => context.text(name);
  const [tool, prompt, uri] = ["tool", "prompt", "resource"].map(text);
  if ([tool, prompt, uri].filter((named) => named !== undefined).length !== 1)
    throw usageError("policy", "Name one of --tool, --prompt and --resource");
  const target = targetOf(text("server"), tool ?? prompt, servers);
  const [user, issuer] = [text("user"), text("issuer")];
  if (issuer !== undefined && user === undefined) throw usageError("policy", "--issuer needs --user");
  const args = await readObject(context, "args", usageError("policy", "--args requires a JSON object"));
  if (uri !== undefined && args !== undefined) throw usageError("policy", "--args needs --tool or --prompt");
  return {
    principal: issuer === undefined ? user : JSON.stringify([issuer, user]),
    scopes: context.texts("scope"),
    method: tool !== undefined ? "tools/call" : prompt !== undefined ? "prompts/get" : "resources/read",
    server: target.server,
    ...(tool !== undefined && { tool: target.name }),
    ...(prompt !== undefined && { prompt: target.name }),
    uri,
    args,
  };
}

/** Without a server, the name begins with it, or there is only one. */
function targetOf(server: string | undefined, name: string | undefined, servers: readonly string[]) {
  if (server !== undefined) return { server, name };
  const owner = servers
    .filter((candidate) => name?.startsWith(`${candidate}__`))
    .sort((a, b) => b.length - a.length)[0];
  if (owner !== undefined) return { server: owner, name: name!.slice(owner.length + 2) };
  if (servers.length === 1) return { server: servers[0]!, name };
  throw usageError("policy", "Name the server with --server");
}

export const auditCommand: CommandSpec = {
  name: "audit",
  summary: "Check an audit log of a gateway",
  group: "program",
  positionals: [
    {
      name: "action",
      summary: "verify: name the first line that was changed, removed or moved",
      choices: ["verify"],
    },
    { name: "file", summary: "The log; older parts of it first", rest: true },
  ],
  options: {
    store: text("<url>", "The store that the gateway uses ($TOOLPORT_STORE, or the state of this machine)"),
  },
  examples: [
    ["toolport audit verify audit.ndjson", "exit code 1 if a line is wrong"],
    ["toolport audit verify audit.ndjson.1 audit.ndjson", "a log in two files"],
  ],
  load: async () => (await import("./policy.js")).runAudit,
};

export const runAudit: RunCommand = async (context) => {
  const [, ...files] = context.words;
  if (files.length === 0) throw new CliError("Name the audit log", "toolport audit verify audit.ndjson");
  const mac = await openKeys(context, context.text("store") ?? (context.env["TOOLPORT_STORE"] || undefined));
  const log = readLog(files, context.cwd);
  const report = await verifyAudit(log.chunks(), mac);
  show(report, log, context);
  return report.problem === undefined ? EXIT.ok : EXIT.other;
};

/** Reads the keys, and creates none: new ones would verify nothing. */
async function openKeys(context: CommandContext, url: string | undefined) {
  const { store, statePath } =
    url === undefined
      ? await context.openStore()
      : { store: await openSharedStore(url), statePath: undefined };
  if (url !== undefined) context.onExit(() => store.close());
  if ((await store.get(GATEWAY_KEYS_RECORD)) === undefined) {
    const state = statePath === undefined ? "state in memory" : `state in ${statePath}`;
    throw configurationError(
      "NO_KEYS",
      `The ${url === undefined ? state : "store"} has no keys of a gateway`,
      "toolport audit verify <file> --state <path> (or --store <url>), as the gateway has it",
    );
  }
  const keys = await loadGatewayKeys(store);
  context.onExit(() => keys.close());
  return createSeal(keys).mac;
}

/** Several files as one log. `place`: a line counted over all of them, as file and line. */
function readLog(files: readonly string[], cwd: string) {
  /** Line breaks of each file that was read. */
  const breaks: number[] = [];
  return {
    async *chunks(): AsyncGenerator<string> {
      for (const [index, name] of files.entries()) {
        let last = "\n";
        breaks[index] = 0;
        try {
          const stream = createReadStream(resolve(cwd, name), { encoding: "utf8" });
          for await (const chunk of stream as AsyncIterable<string>) {
            breaks[index] += chunk.split("\n").length - 1;
            last = chunk;
            yield chunk;
          }
        } catch (error) {
          const { code = "unknown error" } = error as { code?: string };
          throw new CliError(`${name} cannot be read (${code})`, undefined, { code: "UNREADABLE" });
        }
        // A line that was cut off does not continue in the next file.
        if (last.endsWith("\n") || index + 1 === files.length) continue;
        breaks[index] += 1;
        yield "\n";
      }
    },
    place(line: number): { readonly file: string; readonly line: number } {
      let index = 0;
      let own = line;
      for (; index + 1 < files.length && own > (breaks[index] ?? 0); index += 1) own -= breaks[index] ?? 0;
      return { file: files[index] ?? "", line: own };
    },
  };
}

function show(report: AuditReport, log: ReturnType<typeof readLog>, context: CommandContext): void {
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
