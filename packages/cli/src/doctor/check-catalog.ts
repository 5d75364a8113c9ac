/** Connects the servers and checks what they offer: names, schemas, withheld tools, and what their definitions cost. */

import { ConnectionError, type ToolportError } from "@toolport/base";
import type { ServerReport, ToolCosts, ToolportSnapshot } from "@toolport/core";
import { deriveSchema, type SchemaTarget } from "@toolport/schemas";
import { type SchemaChangeKind, sayUnchecked, uncheckedParts } from "@toolport/schemas/internal";
import type { CommandContext, OpenedPort } from "../command.js";
import { EXIT, exitCodeOf } from "../errors.js";
import { about, COSTLY_TOKENS, plainLine, plural } from "../plain-text.js";
import { shellWord } from "../shell-words.js";
import { type Finding, findingsOf } from "./checks.js";

const STDERR_LINES = 6;
const TIMEOUT_MS = 20_000;

export async function checkConnections(
  { toolport }: OpenedPort,
  servers: readonly string[],
  context: CommandContext,
): Promise<Finding[]> {
  const noise: Finding[] = [];
  const stop = toolport.on("warning", ({ server, message, code }) => {
    if (code === "BAD_RESPONSE" && server !== undefined)
      noise.push(findingsOf("connect", server).warn(message));
  });
  const report = await toolport.connect({
    servers,
    signal: context.signal,
    timeoutMs: context.timeoutMs ?? TIMEOUT_MS,
  });
  stop();
  const snapshot = toolport.snapshot();
  const connections = Object.entries(report.servers).map(([server, outcome]) => {
    const { protocolVersion, transport } = snapshot.servers[server]!;
    return connectionFinding(server, outcome, `${transport}, ${protocolVersion ?? "unknown revision"}`);
  });
  const ready = servers.filter((server) => report.servers[server]?.state === "ready");
  const costs = await toolport.cost({ servers: ready, signal: context.signal });
  const cost = ready.length === 0 ? [] : [checkContext(costs)];
  return [...connections, ...noise, ...checkCatalog(snapshot, ready), ...cost];
}

function connectionFinding(
  server: string,
  { state, error, toolCount, ms, authUrl }: ServerReport,
  how: string,
): Finding {
  const { ok, fail } = findingsOf("connect", server);
  if (error === undefined && state === "ready")
    return ok(`Ready in ${Math.round(ms)} ms (${how}), ${plural(toolCount, "tool")}`);
  if (state === "authenticating" || authUrl !== undefined || exitCodeOf(error) === EXIT.authorization) {
    const message = error?.what ?? "The server requires a login";
    return fail(message, `toolport auth ${shellWord(server)}`, EXIT.authorization);
  }
  const next = error?.next ?? `toolport inspect ${shellWord(server)}`;
  return error === undefined
    ? fail(`It is ${state}`, next, EXIT.unreachable)
    : fail(failureText(error), next, exitCodeOf(error));
}

function failureText(error: ToolportError): string {
  if (!(error instanceof ConnectionError) || !error.stderrTail) return error.what;
  const written = error.stderrTail.trimEnd().split("\n");
  // Most messages already quote the relevant lines.
  if (written.some((line) => line.trim().length > 3 && error.what.includes(line.trim()))) return error.what;
  const lines = written.slice(-STDERR_LINES);
  return [`${error.what}. Its stderr:`, ...lines.map((line) => `  ${line}`)].join("\n");
}

const PROVIDERS: Readonly<Partial<Record<SchemaTarget, string>>> = {
  portable: "the portable form of LangChain and the AI SDK",
  openai: "OpenAI",
  "openai-strict": "OpenAI's strict mode",
  anthropic: "Anthropic",
  "gemini-json": "Gemini",
  "gemini-openapi": "Gemini's older form",
};

/** Changes that hide information of the schema from models. */
const LOSSES: readonly SchemaChangeKind[] = ["removed", "relaxed", "cut"];
/** Keywords that constrain nothing. */
const NOTES = new Set("$schema $id $comment title examples deprecated readOnly writeOnly".split(" "));
const MAX_NAMED = 5;

/** Models send no undeclared properties, whether the schema forbids them or not. */
const isLoss = ({ what, keyword }: { what: SchemaChangeKind; keyword: string }): boolean =>
  LOSSES.includes(what) && !NOTES.has(keyword) && !(what === "removed" && keyword === "additionalProperties");

export function checkCatalog(snapshot: ToolportSnapshot, servers: readonly string[]): Finding[] {
  return servers.flatMap((server) => {
    const own = <Info extends { server: string }>(infos: readonly Info[]): Info[] =>
      infos.filter((info) => info.server === server);
    const tools = own(snapshot.tools);
    const { warn } = findingsOf("tools", server);
    const cut = snapshot.servers[server]?.cut;
    return [
      ...checkNames(own(snapshot.nameIssues), server),
      ...checkSchemas(tools, server),
      ...checkUnchecked(tools, server),
      ...own(snapshot.withheldTools).map(({ name, reason }) =>
        warn(`The tool ${plainLine(name)} is not offered: ${reason}`),
      ),
      ...own(snapshot.textFindings).map(({ name, removed, left }) =>
        findingsOf("texts", server).warn(
          `The tool ${plainLine(name)} contains ${removed + left} invisible characters`,
          `Inspect it before you trust it: toolport inspect ${server}`,
        ),
      ),
      ...(cut ? [warn(`Its list of tools is incomplete: ${cut}`)] : []),
    ];
  });
}

function checkNames(own: ToolportSnapshot["nameIssues"], server: string): Finding[] {
  const { ok, warn } = findingsOf("names", server);
  if (own.length === 0) return [ok("All providers accept the names of all tools")];
  return own.map(({ sourceName, name, reason, kind }) =>
    warn(
      `The tool ${plainLine(sourceName)} is offered as ${name} (${kind}): ${reason}`,
      "Use that name, or set another one with toolNameMapper",
    ),
  );
}

function checkSchemas(own: ToolportSnapshot["tools"], server: string): Finding[] {
  if (own.length === 0) return [];
  const { ok, warn } = findingsOf("schemas", server);
  /** The providers, and what to do, by what they do not support. */
  const said = new Map<string, { providers: string[]; next: string | undefined }>();
  const say = (provider: string, what: string, next?: string) => {
    const entry = said.get(what) ?? { providers: [], next };
    entry.providers.push(provider);
    said.set(what, entry);
  };
  for (const [target, provider] of Object.entries(PROVIDERS)) {
    const changed = own.map(({ sourceName, inputSchema }) => ({
      sourceName,
      changes: deriveSchema(inputSchema, target as SchemaTarget).changes,
    }));
    const lost = changed.filter(({ changes }) => changes.some(({ what }) => what === "replaced"));
    const weaker = changed.filter(({ changes }) => changes.some(isLoss));
    if (lost.length > 0)
      say(
        provider,
        `the schema of ${list(lost)}. No equivalent exists, so the model gets an empty schema`,
        "Describe the arguments in the tool's description, or report it to the server's author",
      );
    if (weaker.length > 0)
      say(
        provider,
        `parts of the schema of ${list(weaker)} (${keywords(weaker)}). Models do not see these parts, but arguments are still validated`,
      );
  }
  if (said.size === 0) return [ok(`All providers accept the schemas of all ${own.length} tools`)];
  return [...said].map(([what, { providers, next }]) =>
    warn(`Not supported by ${providers.join(", ")}: ${what}`, next),
  );
}

/** Parts of schemas that Toolport cannot evaluate. */
function checkUnchecked(own: ToolportSnapshot["tools"], server: string): Finding[] {
  return own.flatMap((tool) => {
    const unchecked = uncheckedParts(tool);
    if (unchecked.length === 0) return [];
    const message = `Calls of the tool ${plainLine(tool.sourceName)} are sent without checking ${plainLine(sayUnchecked(unchecked))}`;
    const next = "Nothing is needed for the calls; report it to the server's author";
    return [findingsOf("schemas", server).warn(message, next)];
  });
}

interface ChangedTool {
  readonly sourceName: string;
  readonly changes: readonly { readonly keyword: string; readonly what: SchemaChangeKind }[];
}

function list(tools: readonly ChangedTool[]): string {
  const names = tools.slice(0, MAX_NAMED).map(({ sourceName }) => plainLine(sourceName));
  const more = tools.length - names.length;
  return `${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function keywords(tools: readonly ChangedTool[]): string {
  const lost = tools.flatMap(({ changes }) => changes.filter(isLoss));
  return [...new Set(lost.map(({ keyword }) => keyword))].slice(0, MAX_NAMED).join(", ");
}

const MAX_SERVERS = 3;
/** Smaller shares are not worth naming. */
const MIN_SHARE = 0.05;

function checkContext({ tools, tokens, shown, servers }: ToolCosts): Finding {
  const count = tools.filter(({ deferred }) => !deferred).length;
  const summary = `The definitions of ${plural(count, "tool")} take ${about(shown)} tokens in every request to a model${shown === tokens ? "" : `, ${about(tokens - shown)} more are deferred`}`;
  const { ok, warn } = findingsOf("context");
  if (shown <= COSTLY_TOKENS) return ok(summary);
  const largest = Object.entries(servers)
    .sort(([, a], [, b]) => b.shown - a.shown)
    .slice(0, MAX_SERVERS)
    .filter(([, server], index) => index === 0 || server.shown >= MIN_SHARE * shown);
  const names = largest.map(([name, server]) => `${plainLine(name)} ${about(server.shown)}`);
  return warn(
    `${summary}. The largest servers: ${names.join(", ")}`,
    `Let models search for tools: deferTools: { mode: "auto" } in createToolport, or "defer": true in the entry of ${plainLine(largest[0]![0])}. See what each tool takes: toolport tools --cost`,
  );
}
