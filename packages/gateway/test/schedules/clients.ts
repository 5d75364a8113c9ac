/** Clients of the SDK in both eras. Each byte that reaches one is searched for the marks of other users. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { Gateway } from "toolport/serve";
import type { VirtualTime } from "../../../../test/support/virtual-time.js";
import { type Fields, META, type RpcMessage, VERSIONS } from "../raw-client.js";
import type { Ledger } from "./ledger.js";

const ADDRESS = "http://localhost/mcp";

export type ClientEra = "legacy" | "modern";
export const ANSWERS = ["accept", "late", "decline", "never"] as const;
/** How long a person takes who answers late. */
const LATE_MS = 2_000;
/** What the person in front of the client does with questions. */
export type Answer = (typeof ANSWERS)[number];

/** A request that carried the state of an approval or of a parked call. */
export interface Round {
  readonly mark: string;
  readonly headers: Headers;
  readonly message: RpcMessage;
}

/** What all clients of a schedule share. */
export interface ClientWorld {
  readonly gateways: readonly Gateway[];
  readonly ledger: Ledger;
  readonly time: VirtualTime;
  /** What each call is answered with, by its id. */
  readonly answers: Map<string, Answer>;
  /** Requests that a client could send again. */
  readonly rounds: Round[];
  /** States that the gateway asked with: approvals, and calls that wait for the client. */
  readonly states: Set<string>;
  /** Requests without a complete response. */
  readonly open: Set<OpenRequest>;
}

interface OpenRequest {
  readonly what: string;
  readonly since: number;
  readonly isStream: boolean;
}

const CAPABILITIES = {
  elicitation: { form: {} },
  extensions: { "io.modelcontextprotocol/tasks": {} },
};
const LISTEN = "subscriptions/listen";

export class ScheduleClient {
  readonly mark: string;
  readonly era: ClientEra;
  readonly #world: ClientWorld;
  readonly #client: Client;
  readonly #cuts = new Set<() => void>();
  readonly #release: (() => void)[] = [];
  #requests = 0;
  #hasLeft = false;
  #transport: StreamableHTTPClientTransport | undefined;

  constructor(world: ClientWorld, mark: string, era: ClientEra) {
    this.#world = world;
    this.mark = mark;
    this.era = era;
    this.#client = new Client(
      { name: "schedule", version: "1.0.0" },
      {
        versionNegotiation: { mode: era === "legacy" ? "legacy" : { pin: VERSIONS.modern } },
        capabilities: CAPABILITIES,
      },
    );
    this.#client.onerror = () => {};
    this.#client.setRequestHandler("elicitation/create", ({ params }) => this.#answer(params as never));
    this.#client.setNotificationHandler("notifications/message", () => world.ledger.count("log messages"));
    this.#client.setNotificationHandler("notifications/resources/updated", () =>
      world.ledger.count("updates"),
    );
    this.#client.setNotificationHandler("notifications/tools/list_changed", () =>
      world.ledger.count("changed lists"),
    );
  }

  async connect(): Promise<void> {
    this.#transport = new StreamableHTTPClientTransport(new URL(ADDRESS), {
      fetch: (input, init) => this.send(new Request(input, { ...init, duplex: "half" } as RequestInit)),
      requestInit: { headers: { authorization: `Bearer ${this.mark}` } },
    });
    await this.#client.connect(this.#transport);
    if (this.era === "legacy") await this.#client.setLoggingLevel("debug");
  }

  async call(name: string, args: Fields, signal: AbortSignal): Promise<Fields> {
    const _meta = this.era === "modern" ? { "io.modelcontextprotocol/logLevel": "debug" } : undefined;
    const onprogress = () => this.#world.ledger.count("progress");
    return await this.#client.callTool(
      { name, arguments: args, ...(_meta && { _meta }) },
      { signal, onprogress },
    );
  }

  async list(): Promise<void> {
    await this.#client.listTools();
    await this.#client.listResourceTemplates();
  }

  async read(uri: string): Promise<Fields> {
    return await this.#client.readResource({ uri });
  }

  async plan(server: string): Promise<Fields> {
    return await this.#client.getPrompt({ name: `${server}__plan`, arguments: { mark: this.mark } });
  }

  /** Wants to know of changes of these resources, and of lists. */
  async subscribe(uris: readonly string[]): Promise<void> {
    if (this.era === "modern")
      await this.#client.listen({ toolsListChanged: true, resourceSubscriptions: [...uris] });
    else for (const uri of uris) await this.#client.subscribeResource({ uri });
  }

  /** Sends a request that the SDK's client has no method for. */
  async raw(method: string, params: Fields): Promise<RpcMessage> {
    this.#requests += 1;
    const id = `raw-${this.#requests}`;
    const isModern = this.era === "modern";
    const _meta = { [META.version]: VERSIONS.modern, [META.capabilities]: CAPABILITIES };
    const message = { jsonrpc: "2.0", id, method, params: { ...params, ...(isModern && { _meta }) } };
    const name = params["name"] ?? params["taskId"];
    const session = this.#transport?.sessionId;
    const headers = new Headers({
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${this.mark}`,
      "mcp-protocol-version": VERSIONS[this.era],
      ...(session !== undefined && { "mcp-session-id": session }),
      ...(isModern && { "mcp-method": method, ...(typeof name === "string" && { "mcp-name": name }) }),
    });
    return this.post(headers, message as RpcMessage);
  }

  /** Sends a message as it is. */
  async post(headers: Headers, message: RpcMessage, mark = this.mark): Promise<RpcMessage> {
    const sent = new Headers(headers);
    sent.set("authorization", `Bearer ${mark}`);
    const request = new Request(ADDRESS, { method: "POST", headers: sent, body: JSON.stringify(message) });
    const text = await (await this.send(request, mark)).text();
    const lines = text.startsWith("{")
      ? [text]
      : text.split("\n").filter((line) => line.startsWith("data: {"));
    const messages = lines.map((line) => JSON.parse(line.replace(/^data: /, "")) as RpcMessage);
    return messages.find(({ id, method }) => id === message.id && method === undefined) ?? {};
  }

  /** Sends an HTTP request to one of the replicas. */
  async send(request: Request, mark = this.mark): Promise<Response> {
    const { gateways, ledger, time, open } = this.#world;
    time.note();
    this.#requests += 1;
    const gateway = gateways[this.#requests % gateways.length]!;
    const text = request.method === "POST" ? await request.clone().text() : "";
    if (this.#hasLeft) throw new TypeError("The client has left");
    const message = (text === "" ? {} : JSON.parse(text)) as RpcMessage;
    const isStream = request.method === "GET" || message.method === LISTEN;
    const entry = { what: message.method ?? request.method, since: Date.now(), isStream };
    const endSend = this.#noteSend(request, message, mark);
    const abort = new AbortController();
    request.signal.addEventListener("abort", () => abort.abort(request.signal.reason));
    const cut = () => abort.abort(new TypeError("terminated"));
    this.#cuts.add(cut);
    open.add(entry);
    const end = (isWhole: boolean) => {
      this.#cuts.delete(cut);
      open.delete(entry);
      // The gateway may still send a call whose client has left.
      if (isWhole) endSend();
    };
    let response: Response;
    try {
      const body = text === "" ? {} : { body: text };
      const { method, headers } = request;
      response = await orAbort(
        gateway.fetch(new Request(request.url, { method, headers, ...body, signal: abort.signal })),
        abort.signal,
      );
    } catch (error) {
      end(false);
      throw error;
    }
    time.note();
    ledger.received(mark, JSON.stringify([...response.headers]));
    if (response.body === null) {
      end(true);
      return response;
    }
    const { status, headers } = response;
    return new Response(this.#watch(response.body, { mark, abort: abort.signal, end }), { status, headers });
  }

  /** All connections of the client are lost. The SDK's client opens its stream again, with `Last-Event-ID` if it has one. */
  cut(): void {
    for (const cut of [...this.#cuts]) cut();
  }

  /** Persons answer what they have not answered before. */
  release(): void {
    for (const release of this.#release.splice(0)) release();
  }

  async close(endsSession: boolean): Promise<void> {
    this.release();
    if (endsSession && this.era === "legacy") await this.#transport?.terminateSession().catch(() => {});
    await this.#client.close();
    this.#hasLeft = true;
    this.cut();
  }

  async #answer({ message, requestedSchema }: { message: string; requestedSchema: Fields }): Promise<never> {
    const { answers, ledger } = this.#world;
    const id = /call-\d+/.exec(message)?.[0] ?? "";
    const isApproval = isFields(requestedSchema["properties"]) && "allow" in requestedSchema["properties"];
    ledger.count(isApproval ? "approvals" : "questions");
    const answer = answers.get(id) ?? "decline";
    if (answer === "never") await new Promise<void>((resolve) => this.#release.push(resolve));
    if (answer === "late") await new Promise((resolve) => setTimeout(resolve, LATE_MS));
    else if (answer !== "accept") return { action: "decline" } as never;
    if (isApproval) ledger.accepted(id);
    const content = isApproval ? { allow: true } : { seat: `the seat of ${this.mark}` };
    return { action: "accept", content } as never;
  }

  #noteSend(request: Request, message: RpcMessage, mark: string): () => void {
    const { ledger, rounds, states } = this.#world;
    const { method, params = {} } = message;
    if (method === "tasks/cancel") return ledger.cancels(mark);
    if (request.method === "GET" && request.headers.has("last-event-id")) ledger.count("resumed streams");
    if (method !== "tools/call") return () => {};
    const state = params["requestState"];
    if (typeof state === "string" && states.has(state) && mark === this.mark)
      rounds.push({ mark, headers: new Headers(request.headers), message });
    return ledger.sent(String((params["arguments"] as Fields | undefined)?.["id"]));
  }

  #watch(
    body: ReadableStream<Uint8Array>,
    { mark, abort, end }: { mark: string; abort: AbortSignal; end: (isWhole: boolean) => void },
  ): ReadableStream<Uint8Array> {
    const { time, ledger, states } = this.#world;
    const reader = body.getReader();
    const decoder = new TextDecoder();
    let text = "";
    const leave = (reason: unknown) => {
      end(false);
      reader.cancel(reason).catch(() => {});
    };
    return new ReadableStream<Uint8Array>({
      start(controller) {
        abort.addEventListener("abort", () => {
          controller.error(abort.reason);
          leave(abort.reason);
        });
      },
      async pull(controller) {
        const { done, value } = await reader.read().catch((error: unknown) => {
          end(false);
          throw error;
        });
        if (abort.aborted) return;
        time.note();
        if (done) {
          end(true);
          return controller.close();
        }
        text += decoder.decode(value, { stream: true });
        for (const [, state] of text.matchAll(/"requestState":"([^"]+)"/g)) {
          // A server's own state passes through the gateway; whether it is used twice is the server's concern.
          if (/"approval":|"question\d+":/.test(text)) states.add(state!);
        }
        ledger.received(mark, text);
        text = text.slice(-4_096);
        controller.enqueue(value);
      },
      cancel: leave,
    });
  }
}

const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null;

function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason));
    promise.then(resolve, reject);
  });
}
