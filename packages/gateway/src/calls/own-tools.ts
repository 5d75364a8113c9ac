/** Calls of tools that the port itself offers. They show and read things of servers, so filters and the policy apply to those. */

import { CatalogError, type Fields, suggest, type ToolInfo, ToolportError } from "@toolport/base";
import type { ToolResult } from "@toolport/core";
import { missingTool, type Port } from "@toolport/core/internal";
import { Refusal } from "../faults.js";
import { resourceNames, type ToolEntry } from "../lists/list-entries.js";
import type { PolicyRequest } from "../policy/policy.js";
import { FailedRequest, failureOf, type RequestContext, type RequestFacts } from "../request-context.js";
import { areShown, refusalOfRead, refusalOfUri } from "./check-read.js";

/**
 * Whether a gateway offers an own tool. With a policy only those are that show a user nothing that it does not allow: search and call,
 * `read_artifact`, which reads results that this user got before, and those that ask the policy about what they read. What a function of
 * the program reads for its tools does not show who called them.
 */
export const offersOwnTool = (
  { parts, user }: Pick<RequestContext, "parts" | "user">,
  name: string,
): boolean => parts.policy === undefined || user.port.own.kindOf(name) !== undefined;

type ItemRules = Parameters<Port["own"]["callUnder"]>[0];
/** A resource, a template or a prompt that an own tool shows or reads. */
type OwnToolItem = Parameters<ItemRules["check"]>[0];

/** The result of a tool, and what the audit log says about it. */
export interface OwnAnswer {
  readonly result: ToolResult;
  readonly facts: RequestFacts;
}

/** Undefined if it is no own tool, or one that is not offered. */
export function callOwnTool(
  context: RequestContext,
  name: string,
  args: Fields,
): Promise<OwnAnswer> | undefined {
  const { policy } = context.parts;
  const { own } = context.user.port;
  const { signal } = context.exchange;
  const kind = own.kindOf(name);
  if (kind === "search") return withOutcome(searchTools(context, args));
  if (policy !== undefined) {
    if (kind === undefined) return undefined;
    if (kind === "artifact") return withOutcome(readArtifact(context, name, args));
    if (kind === "ruled") return callUnder(context, name, args);
  }
  const calling = own.call(name, args, { signal });
  return calling && withOutcome(calling);
}

async function withOutcome(calling: Promise<ToolResult>): Promise<OwnAnswer> {
  const result = await calling;
  return { result, facts: { outcome: result.isError ? "error" : "ok" } };
}

/** Calls a tool that reads something of a server, which is in the audit log too. */
async function callUnder(context: RequestContext, name: string, args: Fields): Promise<OwnAnswer> {
  let server: string | undefined;
  const rules = itemRules(context, (item) => {
    server = item.server;
  });
  const { own } = context.user.port;
  try {
    // It is offered, so there is such a tool.
    const result = await own.callUnder(rules, { name, args }, { signal: context.exchange.signal })!;
    return { result, facts: { server, outcome: result.isError ? "error" : "ok" } };
  } catch (error) {
    const { reason, facts } = failureOf(error);
    throw new FailedRequest(reason, { server, ...facts });
  }
}

/** The rules may have changed since the result was cut. The rest of it is decided about like the tool in a list. */
async function readArtifact(context: RequestContext, name: string, args: Fields): Promise<ToolResult> {
  const { parts, user, client } = context;
  const { port } = user;
  const { signal } = context.exchange;
  const { server = "", tool = "" } = port.artifacts.get(String(args["id"])) ?? {};
  if (port.pool.configOf(server) !== undefined) {
    if (port.catalog.find(server, tool) === undefined) await port.need("tools", { signal });
    // A fallback server may have another name for the tool.
    const listed = port.catalog.find(server, tool);
    const [isShown = true] = await visibleTools(context, listed === undefined ? [] : [listed.info]);
    if (!isShown || !parts.showsServer(client, server))
      throw new Refusal(server, "the policy does not allow the tool that returned this result");
  }
  // Every port has this tool.
  return port.own.call(name, args, { signal })!;
}

/** What the policy lets the client see and read. @param onRead called before the policy decides about one thing */
function itemRules(context: RequestContext, onRead: (item: OwnToolItem) => void): ItemRules {
  return {
    areShown: (items) =>
      areShown(
        context,
        items.map((item) => ({
          method: listMethod(item),
          server: item.server,
          ...("prompt" in item ? { prompt: item.prompt } : { uri: item.uri }),
        })),
      ),
    async check(item) {
      const { server } = item;
      onRead(item);
      const { problem, ...read } = await toRead(context, item);
      if (problem !== undefined) throw new Refusal(server, refusalOfUri(problem));
      const reason = await refusalOfRead(context, read);
      if (reason !== undefined) throw new Refusal(server, reason);
      return read.uri === undefined ? item : { ...item, uri: read.uri };
    },
  };
}

/** What the policy decides about. */
async function toRead(
  { parts, user, exchange }: RequestContext,
  item: OwnToolItem,
): Promise<Omit<PolicyRequest, "principal" | "scopes"> & { readonly problem?: string | undefined }> {
  const { server } = item;
  if ("prompt" in item) return { method: "prompts/get", server, prompt: item.prompt, args: item.args };
  if (!parts.readsUris()) return { method: "resources/read", server, uri: item.uri };
  const names = await resourceNames(user.port, { signal: exchange.signal, needsLists: true });
  return { method: "resources/read", ...names.toDecided({ server, uri: item.uri }) };
}

function listMethod(item: OwnToolItem): string {
  if ("prompt" in item) return "prompts/list";
  return item.isTemplate ? "resources/templates/list" : "resources/list";
}

async function searchTools(context: RequestContext, args: Fields): Promise<ToolResult> {
  const { port } = context.user;
  await port.need("tools", { signal: context.exchange.signal });
  return port.own.search(args, (tools) => visibleTools(context, tools));
}

/** For each tool: whether a list would show it to this user. */
export async function visibleTools(
  context: Pick<RequestContext, "parts" | "client">,
  tools: readonly ToolInfo[],
): Promise<readonly boolean[]> {
  const { parts, client } = context;
  const entries = tools.map(({ server, sourceName: tool, name: publicName }) => ({
    method: "tools/list",
    server,
    tool,
    publicName,
  }));
  const isShown = await areShown(context, entries);
  return tools.map((tool, index) => isShown[index]! && parts.offers(client.principal, tool));
}

/** Some of them may be hidden. */
const MAX_CANDIDATES = 20;
const MAX_SUGGESTIONS = 3;

export async function findForCall(
  context: RequestContext,
  name: string,
  signal: AbortSignal,
): Promise<ToolEntry> {
  try {
    return await context.user.port.findForCall(name, { signal });
  } catch (error) {
    if (!ToolportError.isInstance(error)) throw error;
    const { server } = error;
    // The reason why such a server has no tools would name it, and a login would begin.
    const isHidden = server !== undefined && !context.parts.showsServer(context.client, server);
    const suggests = error instanceof CatalogError && error.suggestions.length > 0;
    if (!isHidden && !suggests) throw error;
    throw missingTool(name, await suggestionsFor(context, name));
  }
}

async function suggestionsFor(context: RequestContext, name: string): Promise<readonly string[]> {
  const { catalog } = context.user.port;
  const names = catalog.tools().map((tool) => tool.name);
  const candidates = suggest(name, names, MAX_CANDIDATES).flatMap((each) => catalog.entry(each)?.info ?? []);
  const isShown = await visibleTools(context, candidates);
  return candidates
    .filter((_, index) => isShown[index])
    .slice(0, MAX_SUGGESTIONS)
    .map((tool) => tool.name);
}
