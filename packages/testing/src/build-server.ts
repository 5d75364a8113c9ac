/** Builds an SDK server from a definition that may change while the server runs. */
import type {
  CallToolResult,
  GetPromptResult,
  ReadResourceResult,
  Result,
  Server,
  ServerCapabilities,
  ServerContext,
  Tool,
} from "@modelcontextprotocol/server";
import { ConfigError, loadOnce } from "@toolport/base";
import type {
  RecordedCall,
  StandardToolSchema,
  TestPrompt,
  TestResource,
  TestServerDefinition,
  TestTool,
  TestToolSchema,
} from "./test-server-definition.js";

export type ServerSdk = typeof import("@modelcontextprotocol/server") &
  typeof import("@modelcontextprotocol/server/stdio");

export const loadServerSdk = loadOnce(async (): Promise<ServerSdk> => {
  try {
    const [server, stdio] = await Promise.all([
      import("@modelcontextprotocol/server"),
      import("@modelcontextprotocol/server/stdio"),
    ]);
    return { ...server, ...stdio };
  } catch (cause) {
    throw new ConfigError({
      code: "INVALID_CONFIG",
      what: "createTestServer needs the package @modelcontextprotocol/server, which could not be loaded",
      next: "Run: npm install --save-dev @modelcontextprotocol/server",
      cause,
    });
  }
});

/** State shared by all servers of one definition. */
export interface SharedState {
  /** Loads the SDK's server package. */
  readonly loadSdk: () => Promise<ServerSdk>;
  definition: TestServerDefinition;
  readonly calls: RecordedCall[];
  /** Servers with a persistent connection. */
  readonly connected: Map<Server, Connected>;
}

/** One persistent connection. */
export interface Connected {
  readonly era: "legacy" | "modern";
  /** URIs that the client subscribed to. Legacy only: for modern clients the SDK tracks them. */
  readonly subscriptions: Set<string>;
}

/**
 * Uses the SDK's low-level server, which sends tool definitions unchanged. The high-level server would convert, complete and
 * reject them.
 */
export function buildServer(sdk: ServerSdk, state: SharedState): Server {
  const { name = "test-server", version = "1.0.0", instructions, cacheHints } = state.definition;
  const capabilities = capabilitiesOf(state.definition);
  const server = new sdk.Server(
    { name, version },
    {
      capabilities,
      ...(instructions !== undefined && { instructions }),
      ...(cacheHints !== undefined && { cacheHints }),
    },
  );
  if (capabilities.tools) serveTools(sdk, server, state);
  if (capabilities.resources) serveResources(sdk, server, state);
  if (capabilities.prompts) servePrompts(sdk, server, state);
  if (capabilities.completions) serveCompletions(server, state);
  return server;
}

/** Registers a server for notifications until its connection closes. */
export function trackServer(server: Server, state: SharedState, era: Connected["era"]): Server {
  state.connected.set(server, { era, subscriptions: new Set() });
  server.onclose = () => state.connected.delete(server);
  return server;
}

function capabilitiesOf(definition: TestServerDefinition): ServerCapabilities {
  const { tools, resources, resourceTemplates, prompts, capabilities } = definition;
  const completed = [...Object.values(resourceTemplates ?? {}), ...Object.values(prompts ?? {})];
  return {
    ...(tools && { tools: { listChanged: true } }),
    ...((resources ?? resourceTemplates) && { resources: { listChanged: true, subscribe: true } }),
    ...(completed.some(({ complete }) => complete !== undefined) && { completions: {} }),
    ...(prompts && { prompts: { listChanged: true } }),
    ...capabilities,
  };
}

function serveTools(sdk: ServerSdk, server: Server, state: SharedState): void {
  server.setRequestHandler("tools/list", () => ({
    tools: Object.entries(state.definition.tools ?? {}).map(([name, tool]) => toWireTool(name, tool)),
  }));
  server.setRequestHandler("tools/call", async ({ params }, request) => {
    const args = params.arguments ?? {};
    state.calls.push({ name: params.name, args, at: Date.now() });
    const tool = ownEntry(state.definition.tools, params.name);
    if (tool === undefined) throw invalidParams(sdk, `Unknown tool: ${params.name}`);
    return callTool(tool, args, { sdk, server, request }) as Promise<CallToolResult>;
  });
}

function toWireTool(name: string, { handler: _, inputSchema, outputSchema, ...rest }: TestTool): Tool {
  return {
    name,
    ...rest,
    inputSchema: toJsonSchema(inputSchema, "input") as Tool["inputSchema"],
    ...(outputSchema && { outputSchema: toJsonSchema(outputSchema, "output") as Tool["outputSchema"] }),
  };
}

async function callTool(
  tool: TestTool,
  args: Record<string, unknown>,
  { sdk, server, request }: { sdk: ServerSdk; server: Server; request: ServerContext },
): Promise<Result> {
  const checked = await checkArguments(tool.inputSchema, args);
  if ("problem" in checked) return failed(checked.problem);
  try {
    const answer = await tool.handler(checked.args, {
      signal: request.mcpReq.signal,
      server,
      request,
      async progress(value, total, message) {
        const progressToken = request.mcpReq._meta?.progressToken;
        if (progressToken === undefined) return;
        const amount = { progress: value, ...(total !== undefined && { total }) };
        const params = { progressToken, ...amount, ...(message !== undefined && { message }) };
        await request.mcpReq.notify({ method: "notifications/progress", params });
      },
    });
    if (typeof answer === "string") return { content: [{ type: "text", text: answer }] };
    if (Array.isArray(answer)) return { content: answer };
    return withText(answer as Result);
  } catch (error) {
    if (sdk.ProtocolError.isInstance(error)) throw error;
    return failed(error instanceof Error ? error.message : String(error));
  }
}

/** Adds structured content as text, as the specification requires, unless the result has content. */
function withText(result: Result): Result {
  if (result.structuredContent === undefined || result.content !== undefined) return result;
  return { ...result, content: [{ type: "text", text: JSON.stringify(result.structuredContent) }] };
}

const failed = (text: string): Result => ({ content: [{ type: "text", text }], isError: true });

function serveResources(sdk: ServerSdk, server: Server, state: SharedState): void {
  server.setRequestHandler("resources/list", () => ({
    resources: Object.entries(state.definition.resources ?? {}).map(
      ([uri, { text: _text, blob: _blob, read: _read, ttlMs: _ttlMs, ...rest }]) => ({
        uri,
        name: uri,
        ...rest,
      }),
    ),
  }));
  const templates = () => Object.entries(state.definition.resourceTemplates ?? {});
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: templates().map(([uriTemplate, { read: _read, complete: _complete, ...rest }]) => ({
      uriTemplate,
      name: uriTemplate,
      ...rest,
    })),
  }));
  server.setRequestHandler("resources/read", async ({ params: { uri } }, request) => {
    const resource = ownEntry(state.definition.resources, uri);
    if (resource !== undefined) return readResource(uri, resource, request) as Promise<ReadResourceResult>;
    for (const [, { read, mimeType }] of templates()) {
      const text = read?.(uri);
      if (text !== undefined) return { contents: [{ uri, text, ...(mimeType && { mimeType }) }] };
    }
    throw new sdk.ResourceNotFoundError(uri);
  });
  server.setRequestHandler("resources/subscribe", ({ params: { uri } }) => {
    state.connected.get(server)?.subscriptions.add(uri);
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
    state.connected.get(server)?.subscriptions.delete(uri);
    return {};
  });
}

async function readResource(
  uri: string,
  { mimeType, text, blob, read, ttlMs }: TestResource,
  request: ServerContext,
): Promise<Result> {
  const value = read ? await read(request) : text;
  if (typeof value === "object" && !(value instanceof Uint8Array)) return value;
  const base = { uri, ...(mimeType !== undefined && { mimeType }) };
  const hint = ttlMs === undefined ? {} : { ttlMs, cacheScope: "private" };
  if (value instanceof Uint8Array)
    return { contents: [{ ...base, blob: Buffer.from(value).toString("base64") }], ...hint };
  if (value === undefined && blob !== undefined) return { contents: [{ ...base, blob }], ...hint };
  return { contents: [{ ...base, text: value ?? "" }], ...hint };
}

function serveCompletions(server: Server, { definition }: SharedState): void {
  server.setRequestHandler("completion/complete", async ({ params: { ref, argument, context } }) => {
    const { prompts, resourceTemplates } = definition;
    const owner =
      ref.type === "ref/prompt" ? ownEntry(prompts, ref.name) : ownEntry(resourceTemplates, ref.uri);
    const propose = ownEntry(owner?.complete, argument.name);
    const values = (await propose?.(argument.value, context?.arguments ?? {})) ?? [];
    return { completion: { values: [...values.slice(0, 100)], total: values.length } };
  });
}

function servePrompts(sdk: ServerSdk, server: Server, state: SharedState): void {
  server.setRequestHandler("prompts/list", () => ({
    prompts: Object.entries(state.definition.prompts ?? {}).map(
      ([name, { get: _, complete: _complete, ...rest }]) => ({
        name,
        ...rest,
      }),
    ),
  }));
  server.setRequestHandler("prompts/get", async ({ params }) => {
    const prompt = ownEntry(state.definition.prompts, params.name);
    if (prompt === undefined) throw invalidParams(sdk, `Unknown prompt: ${params.name}`);
    return getPrompt(prompt, params.arguments ?? {});
  });
}

async function getPrompt(prompt: TestPrompt, args: Record<string, string>): Promise<GetPromptResult> {
  const answer = await prompt.get(args);
  if (typeof answer === "string") {
    return { messages: [{ role: "user", content: { type: "text", text: answer } }] };
  }
  return Array.isArray(answer) ? { messages: answer } : answer;
}

function ownEntry<T>(entries: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return entries !== undefined && Object.hasOwn(entries, name) ? entries[name] : undefined;
}

const invalidParams = (sdk: ServerSdk, message: string): Error =>
  new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, message);

const ANY_OBJECT = { type: "object" } as const;

function toJsonSchema(schema: TestToolSchema | undefined, side: "input" | "output"): Record<string, unknown> {
  if (schema === undefined) return ANY_OBJECT;
  if (!isStandard(schema)) return schema;
  const { jsonSchema, vendor } = schema["~standard"];
  if (jsonSchema === undefined) {
    throw new TypeError(
      `This version of ${vendor} cannot convert a schema to JSON Schema. Pass a JSON Schema instead`,
    );
  }
  return { ...ANY_OBJECT, ...jsonSchema[side]({ target: "draft-2020-12" }) };
}

/** The arguments as the schema's library returns them, or its validation errors. */
async function checkArguments(
  schema: TestToolSchema | undefined,
  args: Record<string, unknown>,
): Promise<{ args: Record<string, unknown> } | { problem: string }> {
  if (schema === undefined || !isStandard(schema)) return { args };
  const outcome = (await schema["~standard"].validate(args)) as {
    value?: Record<string, unknown>;
    issues?: readonly { message: string; path?: readonly unknown[] }[];
  };
  if (outcome.issues === undefined) return { args: outcome.value ?? {} };
  const problems = outcome.issues.map(({ message, path }) =>
    path?.length ? `${path.map(keyOf).join(".")}: ${message}` : message,
  );
  return { problem: `Invalid arguments: ${problems.join("; ")}` };
}

const isStandard = (schema: TestToolSchema): schema is StandardToolSchema => "~standard" in schema;

const keyOf = (segment: unknown): string =>
  String(typeof segment === "object" && segment !== null ? (segment as { key: unknown }).key : segment);
