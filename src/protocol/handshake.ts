/** How a conversation begins, in either era, and what the server said about itself. */
import type { Implementation, ServerCapabilities } from "@modelcontextprotocol/client";
import type { ServerConfig } from "../config/server-config.js";
import { ConnectionError } from "../errors/connection-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import { withDeadline } from "../util/with-deadline.js";
import { connectTimeout } from "./connect-timeout.js";
import {
  type ClientIdentity,
  type Era,
  isModernVersion,
  LEGACY_VERSIONS,
  MODERN_VERSIONS,
  SERVER_INFO_META_KEY,
} from "./era.js";
import type { RememberedEra } from "./era-memory.js";
import { initialize, type NegotiationOptions, negotiate } from "./negotiate.js";
import type { Lane } from "./request-channel.js";

export interface Handshake {
  readonly era: Era;
  readonly protocolVersion: string;
  readonly serverInfo: Implementation | undefined;
  readonly capabilities: ServerCapabilities;
  readonly instructions: string | undefined;
  /** What the server answered, as it was: for the SDK's client, and for the memory of eras. */
  readonly answer: Readonly<Record<string, unknown>>;
  /** False when the era rests on the server's silence only: such a verdict is not remembered. */
  readonly sure: boolean;
}

export interface HandshakeOptions {
  readonly config: ServerConfig;
  readonly identity: ClientIdentity;
  readonly remembered?: RememberedEra | undefined;
  readonly timeoutMs: number;
  readonly silenceMs?: number | undefined;
  readonly signal: AbortSignal;
}

/** Greets the server in the way that is configured, remembered or found out. The lane knows the era afterwards. */
export async function handshake(lane: Lane, options: HandshakeOptions): Promise<Handshake> {
  const { config, timeoutMs, signal } = options;
  const startedAt = performance.now();
  // A server that accepts and says nothing would keep an event stream or a WebSocket opening for ever.
  const onTimeout = () => connectTimeout(config, timeoutMs);
  await withDeadline(lane.start(), { signal, timeoutMs, onTimeout });
  const leftMs = Math.max(1, timeoutMs - (performance.now() - startedAt));
  const done = await greet(lane, { ...options, timeoutMs: leftMs }).catch((error: unknown) => {
    throw isTimeout(error) ? connectTimeout(config, timeoutMs, error) : error;
  });
  lane.setProtocolVersion(done.protocolVersion);
  if (done.era === "legacy") await lane.notify("notifications/initialized");
  return done;
}

const isTimeout = (error: unknown): boolean => error instanceof ToolCallError && error.code === "TIMEOUT";

async function greet(lane: Lane, options: HandshakeOptions): Promise<Handshake> {
  const { config, remembered } = options;
  const asking: NegotiationOptions = {
    server: config.name,
    identity: options.identity,
    legacyVersion: legacyVersions(config)[0],
    timeoutMs: options.timeoutMs,
    // Over HTTP a server that is there answers.
    silenceMs: config.kind === "http" ? Number.POSITIVE_INFINITY : options.silenceMs,
    signal: options.signal,
  };
  if (remembered?.era === "modern") return modern(remembered.discover, config);
  if (remembered?.era === "legacy" || isLegacyOnly(config))
    return legacy(await initialize(lane, asking), { config, sure: true });
  const verdict = await negotiate(lane, { ...asking, isLegacyAllowed: !isModernPin(config.protocol) });
  if (verdict.era === "modern") return modern(verdict.discover, config);
  return legacy(verdict.initializeResult, { config, sure: verdict.sure });
}

/** A revision of the modern era is asked for, and nothing else will do. */
export const isModernPin = (protocol: ServerConfig["protocol"]): boolean =>
  typeof protocol === "object" && isModernVersion(protocol.pin);

const isLegacyOnly = ({ kind, protocol }: ServerConfig): boolean =>
  kind === "sse" || protocol === "legacy" || (typeof protocol === "object" && !isModernPin(protocol));

/** What may be agreed on by `initialize`, the first being offered. */
export function legacyVersions({ protocol, clientOptions }: ServerConfig): readonly string[] {
  if (typeof protocol === "object" && !isModernPin(protocol)) return [protocol.pin];
  const given = clientOptions?.reveal().supportedProtocolVersions?.filter((one) => !isModernVersion(one));
  return given !== undefined && given.length > 0 ? given : LEGACY_VERSIONS;
}

function modern(discover: Readonly<Record<string, unknown>>, { name, protocol }: ServerConfig): Handshake {
  const offered = discover["supportedVersions"] as readonly string[];
  const known = typeof protocol === "object" ? [protocol.pin] : MODERN_VERSIONS;
  const protocolVersion = known.find((version) => offered.includes(version));
  if (protocolVersion === undefined)
    throw failed(
      name,
      `The server does not speak ${known.join(" or ")}`,
      'Remove `protocol`, or set it to "auto"',
    );
  const meta = asRecord(discover["_meta"]);
  return {
    era: "modern",
    protocolVersion,
    ...aboutServer(discover, meta[SERVER_INFO_META_KEY]),
    answer: discover,
    sure: true,
  };
}

function legacy(result: unknown, { config, sure }: { config: ServerConfig; sure: boolean }): Handshake {
  const answer = asRecord(result);
  const { protocolVersion } = answer;
  const known = legacyVersions(config);
  if (typeof protocolVersion !== "string" || !known.includes(protocolVersion)) {
    const what = `The server answered initialize with the protocol version ${JSON.stringify(protocolVersion)}, which is not supported`;
    throw failed(config.name, what, `Use a server that speaks one of ${known.join(", ")}`);
  }
  return { era: "legacy", protocolVersion, ...aboutServer(answer, answer["serverInfo"]), answer, sure };
}

/** Servers err here too; what they say wrongly about themselves is not worth a connection. */
function aboutServer(answer: Readonly<Record<string, unknown>>, info: unknown) {
  const { instructions, capabilities } = answer;
  const { name, version } = asRecord(info);
  return {
    serverInfo:
      typeof name === "string"
        ? ({ ...asRecord(info), version: typeof version === "string" ? version : "" } as Implementation)
        : undefined,
    capabilities: asRecord(capabilities) as ServerCapabilities,
    instructions: typeof instructions === "string" ? instructions : undefined,
  };
}

const asRecord = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};

function failed(server: string, what: string, next: string): ConnectionError {
  return new ConnectionError({ code: "HANDSHAKE_FAILED", server, what, next });
}
