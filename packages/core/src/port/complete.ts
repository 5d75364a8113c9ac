/** Completes an argument of a prompt or of a resource template. */
import { CatalogError } from "@toolport/base";
import { promptMissing } from "./get-prompt.js";
import type { PortCore } from "./port-core.js";
import { resourceMissing } from "./resources/read-resource.js";
import type { AccessOptions } from "./server-access.js";

/** The prompt, by its name, or the resource template, by its `uriTemplate`, that the argument belongs to. */
export type CompletionReference = { readonly prompt: string } | { readonly template: string };

/** The argument to complete. */
export interface CompletionArgument {
  readonly name: string;
  /** The text so far. */
  readonly value: string;
  /** Values of other arguments, by name. */
  readonly context?: Readonly<Record<string, string>> | undefined;
}

/** The proposals of a server. */
export interface Completion {
  readonly values: readonly string[];
  /** Number of all proposals, if the server gives it. */
  readonly total?: number | undefined;
  /** The server has more proposals. */
  readonly hasMore: boolean;
}

/** Maximum of the specification. */
const MAX_VALUES = 100;
/** Servers of earlier revisions do not declare the capability. */
const DECLARED_SINCE = "2025-03-26";

export interface CompletionRequest {
  readonly server: string;
  readonly ref: CompletionReference;
  readonly argument: CompletionArgument;
}

export function complete(
  port: PortCore,
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
  const access = {
    ...("prompt" in ref ? { name: ref.prompt } : { uri: ref.template }),
    message: params,
    context,
  };
  return port.observe({ kind: "completion", server, ...access }, async () => {
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

/** Throws if the server lists prompts or templates, but not this one. A server that lists none may still have some. */
function checkKnown({ catalog }: PortCore, server: string, ref: CompletionReference): void {
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
    what: "The server does not complete arguments",
    next: "See capabilities in snapshot()",
  });
