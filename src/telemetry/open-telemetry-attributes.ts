/** Attributes of the OpenTelemetry conventions for MCP and generative AI. Copied, because the conventions are still in development. */

import { readField } from "../errors/foreign-error.js";
import { ToolportError } from "../errors/toolport-error.js";
import { canParseUrl } from "../util/can-parse-url.js";

/** Attributes of a span or a measurement. */
export type Attributes = Record<string, string | number>;

/** The server of a request. */
export interface ServerFacts {
  /** Name of the server, as configured. */
  server: string;
  /** Transport: `stdio`, `http` … */
  transport?: string | undefined;
  protocolVersion?: string | undefined;
  /** URL of the server; only host and port are recorded. */
  address?: string | undefined;
}

/** One MCP request. */
export interface RequestFacts extends ServerFacts {
  /** MCP method, e.g. `tools/call`. */
  method: string;
  /** Name of the tool on that server. */
  tool?: string | undefined;
  /** Name of the prompt. */
  prompt?: string | undefined;
  /** URI of the resource. */
  uri?: string | undefined;
  /** Arguments; recorded only with `captureContent`. */
  args?: unknown;
}

/** Bucket boundaries of both duration histograms, in seconds. */
export const DURATION_BUCKETS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

const NETWORK: Readonly<Record<string, Attributes>> = {
  stdio: { "network.transport": "pipe" },
  docker: { "network.transport": "pipe" },
  http: { "network.transport": "tcp", "network.protocol.name": "http" },
  sse: { "network.transport": "tcp", "network.protocol.name": "http" },
  websocket: { "network.transport": "tcp", "network.protocol.name": "websocket" },
};

const DEFAULT_PORTS: Readonly<Record<string, number>> = {
  "https:": 443,
  "wss:": 443,
  "http:": 80,
  "ws:": 80,
};

function addressAttributes(address: string | undefined): Attributes {
  if (address === undefined || !canParseUrl(address)) return {};
  const { hostname, port, protocol } = new URL(address);
  const number = port === "" ? DEFAULT_PORTS[protocol] : Number(port);
  return { "server.address": hostname, ...(number !== undefined && { "server.port": number }) };
}

/** Does not include the session id, which is a secret. */
export const serverAttributes = ({
  server,
  transport,
  protocolVersion,
  address,
}: ServerFacts): Attributes => ({
  "toolport.server": server,
  ...(transport !== undefined && NETWORK[transport]),
  ...(protocolVersion && { "mcp.protocol.version": protocolVersion }),
  ...addressAttributes(address),
});

/** Attributes for metrics: their cardinality is limited to servers, tools and prompts. */
export const requestAttributes = (facts: RequestFacts): Attributes => ({
  "mcp.method.name": facts.method,
  "jsonrpc.protocol.version": "2.0",
  ...(facts.tool !== undefined && {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": facts.tool,
  }),
  ...(facts.prompt !== undefined && { "gen_ai.prompt.name": facts.prompt }),
  ...serverAttributes(facts),
});

/** Span name: the method and its tool or prompt. URIs are left out to limit the cardinality. */
export const requestSpanName = ({ method, tool, prompt }: RequestFacts): string =>
  [method, tool ?? prompt].filter((part) => part !== undefined).join(" ");

/** Attributes of a failure; empty for success. */
export function failureAttributes(ending: { error: unknown } | { result: unknown }): Attributes {
  if ("result" in ending)
    return readField(ending.result, "isError") === true ? { "error.type": "tool_error" } : {};
  const { error } = ending;
  if (ToolportError.isInstance(error)) {
    const rpcCode = readField(error, "rpcCode");
    return {
      "error.type": error.code,
      ...(typeof rpcCode === "number" && { "rpc.response.status_code": String(rpcCode) }),
    };
  }
  // The error may be the caller's own abort reason.
  const name = readField(error, "name");
  return { "error.type": typeof name === "string" && name !== "" ? name : "_OTHER" };
}
