/** Requests of a modern client, written by hand: with any body, and with a response that can be read slowly or not at all. */
import { Agent, type IncomingMessage, request } from "node:http";

export interface RawReply {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
  /** The JSON-RPC response, also if it is the last event of a stream. */
  readonly message: RawMessage;
}

export interface RawMessage {
  readonly result?: Record<string, unknown> & {
    readonly content?: readonly { readonly text?: string }[];
    readonly isError?: boolean;
    readonly _meta?: Record<string, unknown>;
  };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface RawOptions {
  readonly token?: string | undefined;
  readonly agent?: Agent;
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly capabilities?: Readonly<Record<string, unknown>>;
}

const VERSION = "2026-07-28";
let lastId = 0;

/** Sends a request and returns the response as soon as its headers have arrived. */
export function openRaw(
  url: string,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  { token, agent, meta, capabilities = {} }: RawOptions = {},
): { readonly response: Promise<IncomingMessage>; readonly abandon: () => void } {
  lastId += 1;
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: lastId,
    method,
    params: {
      ...params,
      _meta: {
        ...meta,
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": { name: "raw-client", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": capabilities,
      },
    },
  });
  const name = params["name"] ?? params["uri"];
  const asked = request(url, {
    method: "POST",
    agent: agent ?? false,
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": VERSION,
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": name }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
  });
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    asked.on("response", resolve);
    asked.on("error", reject);
  });
  asked.end(body);
  return { response, abandon: () => asked.destroy() };
}

/** Sends a request and reads its response. */
export async function sendModern(
  url: string,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  options: RawOptions = {},
): Promise<RawReply> {
  const response = await openRaw(url, method, params, options).response;
  const text = await readAll(response);
  const isStream = String(response.headers["content-type"]).startsWith("text/event-stream");
  const json = isStream ? text.trim().split("\ndata: ").at(-1)! : text;
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text,
    message: JSON.parse(json) as RawMessage,
  };
}

export const callModern = (
  url: string,
  name: string,
  args: Readonly<Record<string, unknown>> = {},
  options: RawOptions = {},
): Promise<RawReply> => sendModern(url, "tools/call", { name, arguments: args }, options);

/** The text of the first content block of a result. */
export const textOfReply = ({ message }: RawReply): string | undefined => message.result?.content?.[0]?.text;

/** What the gateway says about a failed call. */
export const failureOfReply = ({ message }: RawReply): unknown => message.result?._meta?.["toolport/error"];

/** An agent that keeps its sockets until it is closed. */
export function keepAliveAgent(maxSockets: number): Agent & Disposable {
  const agent = new Agent({ keepAlive: true, maxSockets });
  return Object.assign(agent, { [Symbol.dispose]: () => agent.destroy() });
}

export async function readAll(response: IncomingMessage): Promise<string> {
  let text = "";
  response.setEncoding("utf8");
  for await (const chunk of response) text += String(chunk);
  return text;
}
