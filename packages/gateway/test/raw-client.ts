/** Sends single JSON-RPC messages to a gateway, and reads what comes back, message by message. */

export type Fields = Readonly<Record<string, unknown>>;

export const VERSIONS = { modern: "2026-07-28", legacy: "2025-11-25" } as const;

export const META = {
  version: "io.modelcontextprotocol/protocolVersion",
  capabilities: "io.modelcontextprotocol/clientCapabilities",
} as const;

export interface RpcMessage {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Fields;
  // biome-ignore lint/suspicious/noExplicitAny: the tests compare the parts they know
  readonly result?: any;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Fields };
}

export interface RawPost {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Called with every message before the answer. */
  readonly onMessage?: (message: RpcMessage) => void;
}

/** An HTTP response, read to its end. */
export interface GatewayAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** All messages of the response. */
  readonly messages: readonly RpcMessage[];
  /** The response to the request: the last message. */
  readonly last: RpcMessage;
  readonly text: string;
}

export const ACCEPT = "application/json, text/event-stream";

/** Posts one message. */
export async function post(
  url: string,
  message: unknown,
  { headers, signal, onMessage }: RawPost = {},
): Promise<GatewayAnswer> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: ACCEPT, ...headers },
    body: JSON.stringify(message),
    ...(signal && { signal }),
  });
  const { messages, text } = await readMessages(response, onMessage);
  return { status: response.status, headers: response.headers, messages, text, last: messages.at(-1) ?? {} };
}

/** The messages of a JSON document or an event stream. */
export async function readMessages(
  response: Response,
  onMessage: ((message: RpcMessage) => void) | undefined,
): Promise<{ messages: RpcMessage[]; text: string }> {
  const messages: RpcMessage[] = [];
  const take = (json: string) => {
    const message = JSON.parse(json) as RpcMessage;
    messages.push(message);
    onMessage?.(message);
  };
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith("text/event-stream")) {
    const text = await response.text();
    if (type.startsWith("application/json") && text !== "") take(text);
    return { messages, text };
  }
  let text = "";
  let read = 0;
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let end = text.indexOf("\n\n", read); end !== -1; end = text.indexOf("\n\n", read)) {
      const event = text.slice(read, end);
      read = end + 2;
      const data = event
        .split("\n")
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice(5).trim())
        .join("");
      if (data !== "") take(data);
    }
  }
  return { messages, text };
}
