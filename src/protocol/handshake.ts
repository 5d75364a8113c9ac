/** The handshake in either era, and what the server says about itself. */
import type { Implementation, ServerCapabilities } from "@modelcontextprotocol/client";
import type { ServerConfig } from "../config/server-config.js";
import { ToolCallError } from "../errors/toolport-error.js";
import { toRecord } from "../util/json.js";
import { withDeadline } from "../util/timers.js";
import {
  type ClientIdentity,
  type Era,
  isModernVersion,
  LEGACY_VERSIONS,
  MODERN_VERSIONS,
  SERVER_INFO_META_KEY,
} from "./era.js";
import type { RememberedEra } from "./era-memory.js";
import { failed, initialize, type NegotiationOptions, negotiate, notModern } from "./negotiate.js";
import type { RequestChannel } from "./request-channel.js";

export interface Handshake {
  readonly era: Era;
  readonly protocolVersion: string;
  readonly serverInfo: Implementation | undefined;
  readonly capabilities: ServerCapabilities;
  readonly instructions: string | undefined;
  /** The unchanged result of `initialize` or `server/discover`, for the SDK's client and for the era memory. */
  readonly result: Readonly<Record<string, unknown>>;
  /** False if the era was only inferred from a missing response: it is not remembered. */
  readonly isCertain: boolean;
}

export interface HandshakeOptions {
  readonly config: ServerConfig;
  readonly identity: ClientIdentity;
  readonly remembered?: RememberedEra | undefined;
  readonly timeoutMs: number;
  readonly silenceMs?: number | undefined;
  readonly signal: AbortSignal;
}

/** Connects in the era that is configured, remembered or negotiated. */
export async function handshake(channel: RequestChannel, options: HandshakeOptions): Promise<Handshake> {
  const { config, timeoutMs, signal } = options;
  const startedAt = performance.now();
  // A server that accepts the connection but never responds would keep an event stream or a WebSocket opening forever.
  const onTimeout = () => connectTimeout(config, timeoutMs);
  await withDeadline(channel.start(), { signal, timeoutMs, onTimeout });
  const leftMs = Math.max(1, timeoutMs - (performance.now() - startedAt));
  const done = await runHandshake(channel, { ...options, timeoutMs: leftMs }).catch((error: unknown) => {
    throw isTimeout(error) ? connectTimeout(config, timeoutMs, error) : error;
  });
  channel.setProtocolVersion(done.protocolVersion);
  const { remembered } = options;
  const isResumed = remembered?.era === "legacy" && remembered.resume !== undefined;
  if (done.era === "legacy" && !isResumed) await channel.notify("notifications/initialized");
  return done;
}

const isTimeout = (error: unknown): boolean => error instanceof ToolCallError && error.code === "TIMEOUT";

async function runHandshake(channel: RequestChannel, options: HandshakeOptions): Promise<Handshake> {
  const { config, remembered } = options;
  const negotiation: NegotiationOptions = {
    server: config.name,
    identity: options.identity,
    legacyVersion: legacyVersions(config)[0],
    timeoutMs: options.timeoutMs,
    // Over HTTP a running server always responds.
    silenceMs: config.kind === "http" ? Number.POSITIVE_INFINITY : options.silenceMs,
    signal: options.signal,
  };
  if (remembered?.era === "legacy" && remembered.resume !== undefined) {
    channel.resumeSession(remembered.resume.sessionId);
    return legacy(remembered.resume.result, config);
  }
  if (remembered?.era === "modern") return modern(remembered.discover, config);
  if (remembered?.era === "legacy" || isLegacyOnly(config))
    return legacy(await initialize(channel, negotiation), config);
  const isLegacyAllowed = !isModernPin(config.protocol);
  const verdict = await negotiate(channel, { ...negotiation, isLegacyAllowed });
  if (verdict.era === "modern") return modern(verdict.discover, config);
  return legacy(verdict.initializeResult, config, verdict.isCertain);
}

/** The configuration requires a modern revision. */
export const isModernPin = (protocol: ServerConfig["protocol"]): boolean =>
  typeof protocol === "object" && isModernVersion(protocol.pin);

const isLegacyOnly = ({ kind, protocol }: ServerConfig): boolean =>
  kind === "sse" || protocol === "legacy" || (typeof protocol === "object" && !isModernPin(protocol));

/** The revisions accepted in `initialize`; the first is offered to the server. */
export function legacyVersions({ protocol, clientOptions }: ServerConfig): readonly string[] {
  if (typeof protocol === "object" && !isModernPin(protocol)) return [protocol.pin];
  const given = clientOptions?.reveal().supportedProtocolVersions?.filter((one) => !isModernVersion(one));
  return given !== undefined && given.length > 0 ? given : LEGACY_VERSIONS;
}

function modern(discover: Readonly<Record<string, unknown>>, { name, protocol }: ServerConfig): Handshake {
  const offered = discover["supportedVersions"] as readonly string[];
  const known = typeof protocol === "object" ? [protocol.pin] : MODERN_VERSIONS;
  const protocolVersion = known.find((version) => offered.includes(version));
  if (protocolVersion === undefined) throw notModern(name, known);
  const meta = toRecord(discover["_meta"]) ?? {};
  const about = aboutServer(discover, meta[SERVER_INFO_META_KEY]);
  return { era: "modern", protocolVersion, ...about, result: discover, isCertain: true };
}

function legacy(initializeResult: unknown, config: ServerConfig, isCertain = true): Handshake {
  const result = toRecord(initializeResult) ?? {};
  const { protocolVersion } = result;
  const known = legacyVersions(config);
  if (typeof protocolVersion !== "string" || !known.includes(protocolVersion)) {
    const what = `The server chose the protocol version ${JSON.stringify(protocolVersion)}, which is not supported`;
    throw failed(config.name, what, `Use a server that supports one of ${known.join(", ")}`);
  }
  return { era: "legacy", protocolVersion, ...aboutServer(result, result["serverInfo"]), result, isCertain };
}

/** Ignores malformed fields: they are not worth failing the connection. */
function aboutServer(result: Readonly<Record<string, unknown>>, info: unknown) {
  const { instructions, capabilities } = result;
  const { name, version } = toRecord(info) ?? {};
  return {
    serverInfo:
      typeof name === "string"
        ? ({ ...toRecord(info), version: typeof version === "string" ? version : "" } as Implementation)
        : undefined,
    capabilities: (toRecord(capabilities) ?? {}) as ServerCapabilities,
    instructions: typeof instructions === "string" ? instructions : undefined,
  };
}

/** Programs that may download a package before they run it. */
const RUNNER = /(?:^|[\\/])(?<name>npx|pnpx|bunx|uvx|pipx|npm|pnpm|yarn|bun|uv|deno)(?:\.cmd|\.exe)?$/i;

function connectTimeout(config: ServerConfig, timeoutMs: number, cause?: unknown): ToolCallError {
  return new ToolCallError({
    code: "TIMEOUT",
    server: config.name,
    phase: "connect",
    what: `The server was not connected within ${Math.round(timeoutMs)} ms`,
    next: `Raise connectTimeoutMs (--timeout on the command line)${slowStart(config)}`,
    retryable: true,
    outcome: "unsent",
    cause,
  });
}

/** Why the first start of the server may take longer; appended to the advice of an error. */
export function slowStart(config: ServerConfig): string {
  if (config.kind === "docker") return ": the image may have to be downloaded first";
  const runner = config.kind === "stdio" ? RUNNER.exec(config.command)?.groups?.["name"] : undefined;
  if (runner !== undefined) return `: the first run of ${runner} downloads the package`;
  return ", or check that it is an MCP server";
}
