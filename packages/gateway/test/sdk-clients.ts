/** The clients of both SDKs behind one interface, with answers to all questions of the conformance server. */
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

export type Fields = Record<string, unknown>;
export type ClientKind = "v1" | "v2-legacy" | "v2-modern";
/** An address, or the arguments of `node` for a server over stdio. */
export type Target = string | readonly string[];

/** What the tests use of a client. */
export interface SdkClient extends AsyncDisposable {
  readonly kind: ClientKind;
  readonly version: string | undefined;
  readonly isLegacy: boolean;
  call(name: string, args?: Fields, options?: CallOptions): Promise<Fields>;
  list(list: "tools" | "prompts" | "resources" | "resourceTemplates"): Promise<Fields[]>;
  read(uri: string): Promise<Fields>;
  prompt(name: string, args?: Record<string, string>): Promise<Fields>;
  complete(params: CompleteParams): Promise<Fields>;
  ping(): Promise<Fields>;
  setLogLevel(level: "debug"): Promise<Fields>;
  subscribe(uri: string): Promise<Fields>;
  unsubscribe(uri: string): Promise<Fields>;
  /** Opens a stream for list changes where the era needs a request for it. */
  listen(): Promise<void>;
  /** Questions, in the order they came. */
  readonly questions: { readonly method: string; readonly params: unknown }[];
  /** Log messages and list changes. */
  readonly notices: { readonly method: string; readonly params: unknown }[];
  /**
   * Progress as it arrived. An SDK may report less to `onprogress`: v1 forgets the call before it reports progress that
   * arrives together with the response.
   */
  readonly progress: Fields[];
}

interface CallOptions {
  readonly onprogress?: (progress: Fields) => void;
  readonly signal?: AbortSignal;
}

interface CompleteParams {
  readonly ref: { readonly type: "ref/prompt"; readonly name: string };
  readonly argument: { readonly name: string; readonly value: string };
}

const INFO = { name: "client-under-test", version: "1.0.0" };
const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {} };

const CONTENT: Fields = {
  username: "alice",
  email: "alice@example.com",
  name: "Alice",
  color: "blue",
  ok: true,
  context: "a test",
};

/** Only the fields that the form has: a client must not send others. */
function answerOf({ method, params }: { method: string; params?: unknown }): Fields {
  if (method === "roots/list") return { roots: [{ uri: "file:///test/root", name: "Test Root" }] };
  if (method === "sampling/createMessage")
    return {
      role: "assistant",
      content: { type: "text", text: "Paris" },
      model: "test",
      stopReason: "endTurn",
    };
  const { properties } = (params as { requestedSchema: { properties: Record<string, Fields> } })
    .requestedSchema;
  const content = Object.entries(properties).map(([key, schema]) => [key, CONTENT[key] ?? someValue(schema)]);
  return { action: "accept", content: Object.fromEntries(content) as Fields };
}

function someValue({ default: preset, enum: choices, oneOf, items, type }: Fields): unknown {
  if (preset !== undefined) return preset;
  if (type === "array") return [someValue(items as Fields)];
  const titled = (oneOf ?? (items as Fields | undefined)?.["anyOf"]) as { const: string }[] | undefined;
  return (choices as string[] | undefined)?.[0] ?? titled?.[0]?.const ?? "value1";
}

export async function openClient(kind: ClientKind, target: Target): Promise<SdkClient> {
  return kind === "v1" ? openV1(target) : openV2(kind, target);
}

type Lists = "listTools" | "listPrompts" | "listResources" | "listResourceTemplates";
const LISTS = {
  tools: "listTools",
  prompts: "listPrompts",
  resources: "listResources",
  resourceTemplates: "listResourceTemplates",
} as const satisfies Record<string, Lists>;

/** What both SDKs have in common. */
interface CommonClient extends Record<Lists, () => Promise<Fields>> {
  readResource(params: { uri: string }): Promise<Fields>;
  getPrompt(params: { name: string; arguments: Record<string, string> }): Promise<Fields>;
  complete(params: CompleteParams): Promise<Fields>;
  ping(): Promise<Fields>;
  setLoggingLevel(level: "debug"): Promise<Fields>;
  subscribeResource(params: { uri: string }): Promise<Fields>;
  unsubscribeResource(params: { uri: string }): Promise<Fields>;
  close(): Promise<void>;
}

function wrap(
  client: CommonClient,
  own: Pick<SdkClient, "kind" | "version" | "call" | "listen" | "questions" | "notices" | "progress">,
): SdkClient {
  return {
    ...own,
    isLegacy: own.kind !== "v2-modern",
    list: async (list) => (await client[LISTS[list]]())[list] as Fields[],
    read: (uri) => client.readResource({ uri }),
    prompt: (name, args = {}) => client.getPrompt({ name, arguments: args }),
    complete: (params) => client.complete(params),
    ping: () => client.ping(),
    setLogLevel: (level) => client.setLoggingLevel(level),
    subscribe: (uri) => client.subscribeResource({ uri }),
    unsubscribe: (uri) => client.unsubscribeResource({ uri }),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

interface Connected {
  onmessage?: ((message: never, extra?: never) => void) | undefined;
}

/** Records the progress notifications that arrive from now on, without their tokens. */
function recordProgress(transport: Connected): Fields[] {
  const progress: Fields[] = [];
  const deliver = transport.onmessage;
  transport.onmessage = (message: { method?: string; params?: Fields }, extra?: never) => {
    const { progressToken: _, ...report } = message.params ?? {};
    if (message.method === "notifications/progress") progress.push(report);
    deliver?.(message as never, extra);
  };
  return progress;
}

async function openV1(target: Target): Promise<SdkClient> {
  const client = new ClientV1(INFO, { capabilities });
  const questions: SdkClient["questions"] = [];
  const notices: SdkClient["notices"] = [];
  for (const schema of [ElicitRequestSchema, CreateMessageRequestSchema, ListRootsRequestSchema]) {
    client.setRequestHandler(schema as typeof ElicitRequestSchema, (request) => {
      questions.push({ method: request.method, params: request.params });
      return answerOf(request) as { action: "accept" };
    });
  }
  for (const schema of [
    LoggingMessageNotificationSchema,
    ToolListChangedNotificationSchema,
    PromptListChangedNotificationSchema,
  ]) {
    client.setNotificationHandler(schema as typeof LoggingMessageNotificationSchema, ({ method, params }) => {
      notices.push({ method, params });
    });
  }
  const transport = typeof target === "string" ? new HttpV1(new URL(target)) : new StdioV1(stdio(target));
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  const progress = recordProgress(transport);
  return wrap(client as unknown as CommonClient, {
    kind: "v1",
    version: transport instanceof HttpV1 ? transport.protocolVersion : undefined,
    call: (name, args = {}, options = {}) =>
      client.callTool({ name, arguments: args }, undefined, {
        ...options,
        onprogress: options.onprogress as never,
      }) as Promise<Fields>,
    listen: async () => {},
    questions,
    notices,
    progress,
  });
}

async function openV2(kind: "v2-legacy" | "v2-modern", target: Target): Promise<SdkClient> {
  const mode = kind === "v2-legacy" ? "legacy" : ({ pin: "2026-07-28" } as const);
  const client = new ClientV2(INFO, { capabilities, versionNegotiation: { mode } });
  const questions: SdkClient["questions"] = [];
  const notices: SdkClient["notices"] = [];
  for (const method of ["elicitation/create", "sampling/createMessage", "roots/list"] as const) {
    client.setRequestHandler(method as "elicitation/create", (request) => {
      questions.push({ method, params: request.params });
      return answerOf(request) as { action: "accept" };
    });
  }
  for (const method of [
    "notifications/message",
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
  ] as const) {
    client.setNotificationHandler(method, ({ params }) => void notices.push({ method, params }));
  }
  const transport = typeof target === "string" ? new HttpV2(new URL(target)) : new StdioV2(stdio(target));
  await client.connect(transport);
  const progress = recordProgress(transport);
  return wrap(client as unknown as CommonClient, {
    kind,
    version: client.getNegotiatedProtocolVersion(),
    call: (name, args = {}, options = {}) =>
      client.callTool(
        { name, arguments: args },
        { ...options, onprogress: options.onprogress as never },
      ) as Promise<Fields>,
    async listen() {
      if (kind === "v2-modern") await client.listen({ toolsListChanged: true, promptsListChanged: true });
    },
    questions,
    notices,
    progress,
  });
}

const stdio = (args: readonly string[]) => ({
  command: process.execPath,
  args: [...args],
  env: process.env as Record<string, string>,
  stderr: "inherit" as const,
});
