/** `toolport policy`: checks the policy of a gateway, and shows what it decides and by which rule. */

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Policy, PolicyEffect, PolicyRequest } from "../../serve/index.js";
import { readPolicy } from "../../serve/policy/read-policy.js";
import { readUri } from "../../serve/policy/resource-uri.js";
import { findingText, reviewRules } from "../../serve/policy/review-rules.js";
import { readObject } from "../call-arguments.js";
import type { CommandContext, CommandSpec, RunCommand } from "../command.js";
import { text, texts } from "../command-options.js";
import { configurationError, EXIT, usageError } from "../errors.js";
import { plainLine, plural } from "../plain-text.js";

export const policyCommand: CommandSpec = {
  name: "policy",
  summary: "Check a policy of a gateway, or show what it decides",
  group: "program",
  positionals: [
    {
      name: "action",
      summary: "check: find mistakes; test: show what happens to one request, and by which rule",
      completes: "none",
      choices: ["check", "test"],
    },
    { name: "file", summary: "The policy", completes: "file" },
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

const EXIT_OF: Readonly<Record<PolicyEffect, number>> = {
  allow: EXIT.ok,
  approve: EXIT.authorization,
  deny: EXIT.toolError,
};
const WORDS: Readonly<Record<PolicyEffect, string>> = {
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
    for (const finding of errors) context.print(plainLine(`error: ${findingText(finding)}`));
    for (const finding of warnings) context.print(plainLine(`warning: ${findingText(finding)}`));
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
    .filter((known) => name?.startsWith(`${known}__`))
    .sort((a, b) => b.length - a.length)[0];
  if (owner !== undefined) return { server: owner, name: name!.slice(owner.length + 2) };
  if (servers.length === 1) return { server: servers[0]!, name };
  throw usageError("policy", "Name the server with --server");
}
