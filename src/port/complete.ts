/** Completes what a user has begun to type as an argument of a prompt or of a resource template. */
import { CatalogError } from "../errors/catalog-error.js";
import { promptMissing } from "./get-prompt.js";
import { resourceMissing } from "./resources/resource-address.js";
import type { AccessOptions, ServerAccess } from "./server-access.js";

/** What an argument belongs to: a prompt by its name, or a resource template by its `uriTemplate`. */
export type CompletionReference = { readonly prompt: string } | { readonly template: string };

/** What is there of the argument. */
export interface CompletionArgument {
  readonly name: string;
  /** What was typed so far. */
  readonly value: string;
  /** Arguments that are known already, by name. */
  readonly context?: Readonly<Record<string, string>> | undefined;
}

/** What a server proposes. */
export interface Completion {
  readonly values: readonly string[];
  /** How many there are, if the server says so. */
  readonly total?: number | undefined;
  /** There are more than these. */
  readonly hasMore: boolean;
}

/** More would be against the protocol. */
const MAX_VALUES = 100;
/** Servers of the first revision complete without saying so. */
const DECLARED_SINCE = "2025-03-26";

export interface CompletionRequest {
  readonly server: string;
  readonly ref: CompletionReference;
  readonly argument: CompletionArgument;
}

export function complete(
  port: ServerAccess,
  { server, ref, argument: { name, value, context: known } }: CompletionRequest,
  { context, ...wait }: AccessOptions,
): Promise<Completion> {
  const params = {
    ref:
      "prompt" in ref
        ? { type: "ref/prompt", name: ref.prompt }
        : { type: "ref/resource", uri: ref.template },
    argument: { name, value },
    ...(known !== undefined && { context: { arguments: known } }),
  };
  const event = {
    kind: "completion" as const,
    server,
    ...("prompt" in ref ? { name: ref.prompt } : { uri: ref.template }),
    message: params,
    context,
    principal: port.principal?.name,
  };
  return port.parts.observe(event, async () => {
    const connection = port.pool.require(server);
    const timeoutMs = wait.timeoutMs ?? port.parts.settings.timeoutMs;
    const session = await connection.acquire({ signal: wait.signal, timeoutMs });
    if (session.capabilities.completions === undefined && session.protocolVersion >= DECLARED_SINCE)
      throw notOffered(server);
    checkKnown(port, server, ref);
    const facts = "prompt" in ref ? { prompt: ref.prompt } : { uri: ref.template };
    return readCompletion(
      await port.ask(connection, { method: "completion/complete", params, ...facts }, wait),
    );
  });
}

/** A reference that is not listed is a slip; a server that lists none may still know some. */
function checkKnown({ catalog }: ServerAccess, server: string, ref: CompletionReference): void {
  if ("prompt" in ref) {
    const names = catalog.prompts().flatMap((info) => (info.server === server ? [info.name] : []));
    if (names.length > 0 && !names.includes(ref.prompt)) throw promptMissing(server, ref.prompt, names);
    return;
  }
  const listed = catalog.resourceTemplates().filter((info) => info.server === server);
  const templates = listed.map(({ uriTemplate }) => uriTemplate);
  if (templates.length > 0 && !templates.includes(ref.template))
    throw resourceMissing({ server, uri: ref.template }, templates);
}

function readCompletion(result: Record<string, unknown>): Completion {
  const { values, total, hasMore } = (result["completion"] ?? {}) as Record<string, unknown>;
  const texts = Array.isArray(values) ? values.filter((value) => typeof value === "string") : [];
  return {
    values: texts.slice(0, MAX_VALUES),
    ...(typeof total === "number" && { total }),
    hasMore: hasMore === true || texts.length > MAX_VALUES,
  };
}

const notOffered = (server: string): CatalogError =>
  new CatalogError({
    code: "NOT_OFFERED",
    server,
    what: "The server completes no arguments",
    next: "Look at capabilities in snapshot() for what it offers",
  });
