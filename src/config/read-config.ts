/** Builds the configuration of one server from its entry: one small reader per kind of server. */
import type { AuthProvider, OAuthClientProvider } from "@modelcontextprotocol/client";
import { freezeConfig } from "./config-view.js";
import type { EntryReader } from "./entry-reader.js";
import { readCommon, readHeaders, readProcessEnv } from "./read-fields.js";
import { readMaxSockets, readProxy } from "./read-network.js";
import { readOAuth } from "./read-oauth.js";
import { readUrl } from "./read-url.js";
import { resolveCommand, resolvePath } from "./resolve-path.js";
import type {
  CustomConfig,
  DockerConfig,
  HttpConfig,
  ServerConfig,
  SseConfig,
  StdioConfig,
  TransportKind,
  WebSocketConfig,
} from "./server-config.js";
import { readServerKind } from "./server-kind.js";

const COMMON_KEYS = [
  ...["transport", "type", "timeoutMs", "protocol", "clientOptions", "enabled"],
  ...["logLevel", "logEvents", "logRequests", "logResponses"],
  ...["fallback", "only", "except", "filter", "cache", "trustAnnotations", "concurrency", "rateLimit"],
  ...["toolTimeoutsMs", "onProgress", "checkArguments"],
];
const URL_KEYS = ["url", "sseUrl", "base_url", "endpoint"];
const HTTP_KEYS = [
  ...[...URL_KEYS, "headers", "authProvider", "oauth", "automaticSSEFallback", "proxy", "maxSockets"],
  "reconnect",
];

/** The fields each kind of server takes besides the common ones. */
const KEYS: Readonly<Record<TransportKind, readonly string[]>> = {
  stdio: ["command", "args", "env", "inheritEnv", "cwd", "encoding", "stderr", "restart"],
  docker: ["image", "dockerHost", "engine", "args", "env", "mounts", "runArgs", "restart"],
  http: HTTP_KEYS,
  sse: HTTP_KEYS,
  websocket: [...URL_KEYS, "headers", "proxy", "reconnect"],
  custom: ["reconnect"],
};

/** Every field that an entry of some kind takes. */
export const ENTRY_KEYS: readonly string[] = [...new Set([...COMMON_KEYS, ...Object.values(KEYS).flat()])];

interface ReadContext {
  name: string;
  reader: EntryReader;
  baseDir: string | undefined;
}

/** Lines are found by their last byte, so an encoding must write a newline as that one byte. */
const NOT_BY_LINE: readonly string[] = ["utf-16le", "utf-16be", "iso-2022-jp"];

function readEncoding(reader: EntryReader): string {
  const label = reader.text("encoding")?.trim().toLowerCase() ?? "utf8";
  try {
    const { encoding } = new TextDecoder(label);
    if (encoding === "utf-8") return "utf8";
    if (!NOT_BY_LINE.includes(encoding)) return label;
  } catch {
    // An unknown label is as useless as one that cannot be used.
  }
  reader.report(
    "encoding",
    'is not an encoding for lines of text; use "utf8" or, for old programs, "latin1"',
  );
  return "utf8";
}

/** A required text; the empty string stands for it after the problem was reported. */
function required(reader: EntryReader, key: string, missing: string): string {
  if (!reader.has(key)) reader.report(key, missing);
  return reader.text(key) ?? "";
}

function readStdio({ name, reader, baseDir }: ReadContext): StdioConfig {
  const command = required(reader, "command", "is missing; give the program to start");
  const cwd = reader.text("cwd");
  return {
    kind: "stdio",
    ...readCommon(name, reader, "restart"),
    command: baseDir === undefined ? command : resolveCommand(baseDir, command),
    args: reader.texts("args"),
    env: readProcessEnv(reader),
    inheritEnv: reader.flag("inheritEnv", false),
    cwd: cwd === undefined || baseDir === undefined ? cwd : resolvePath(baseDir, cwd),
    encoding: readEncoding(reader),
    stderr: reader.choice("stderr", ["pipe", "inherit", "ignore"]) ?? "pipe",
  };
}

function readDocker({ name, reader }: ReadContext): DockerConfig {
  const image = required(reader, "image", "is missing; give the name of a container image");
  // It would be taken for an option of the engine's command line.
  if (image.startsWith("-")) reader.report("image", 'must not start with "-"');
  const mounts = reader.texts("mounts");
  for (const [index, mount] of mounts.entries()) {
    if (!/^[^:].*:./s.test(mount)) reader.report(["mounts", index], 'must have the form "source:target"');
  }
  return {
    kind: "docker",
    ...readCommon(name, reader, "restart"),
    image,
    dockerHost: reader.text("dockerHost"),
    engine: reader.text("engine") ?? "docker",
    args: reader.texts("args"),
    env: readProcessEnv(reader),
    mounts,
    runArgs: reader.texts("runArgs"),
  };
}

function readAuthProvider(reader: EntryReader): AuthProvider | OAuthClientProvider | undefined {
  const provider = reader.raw("authProvider") as
    | Partial<AuthProvider & OAuthClientProvider>
    | null
    | undefined;
  if (provider === undefined) return undefined;
  if (typeof provider?.token === "function" || typeof provider?.tokens === "function") {
    return provider as AuthProvider | OAuthClientProvider;
  }
  return reader.report("authProvider", "must be an AuthProvider or OAuthClientProvider of the MCP SDK");
}

function readHttp({ name, reader }: ReadContext): HttpConfig {
  return {
    kind: "http",
    ...readCommon(name, reader, "reconnect"),
    url: readUrl(reader, "http") ?? "",
    headers: readHeaders(reader),
    authProvider: readAuthProvider(reader),
    oauth: readOAuth(reader),
    sseFallback: reader.flag("automaticSSEFallback", true),
    proxy: readProxy(reader),
    maxSockets: readMaxSockets(reader),
  };
}

function readSse({ name, reader }: ReadContext): SseConfig {
  // Checked although it changes nothing: there is nothing left to fall back to.
  reader.flag("automaticSSEFallback", true);
  return {
    kind: "sse",
    ...readCommon(name, reader, "reconnect"),
    url: readUrl(reader, "sse") ?? "",
    headers: readHeaders(reader),
    authProvider: readAuthProvider(reader),
    oauth: readOAuth(reader),
    proxy: readProxy(reader),
    maxSockets: readMaxSockets(reader),
  };
}

function readWebSocket({ name, reader }: ReadContext): WebSocketConfig {
  return {
    kind: "websocket",
    ...readCommon(name, reader, "reconnect"),
    url: readUrl(reader, "websocket") ?? "",
    headers: readHeaders(reader),
    proxy: readProxy(reader),
  };
}

function readCustom({ name, reader }: ReadContext): CustomConfig {
  const create = reader.raw("transport") as CustomConfig["createTransport"];
  // A function of our own: the user's may carry fields that are nobody's business in a log.
  return { kind: "custom", ...readCommon(name, reader, "reconnect"), createTransport: () => create() };
}

const READERS: { readonly [Kind in TransportKind]: (context: ReadContext) => ServerConfig } = {
  stdio: readStdio,
  docker: readDocker,
  http: readHttp,
  sse: readSse,
  websocket: readWebSocket,
  custom: readCustom,
};

function explainMisplaced(kind: TransportKind, key: string): string | undefined {
  const twin = { restart: "reconnect", reconnect: "restart" }[key];
  if (twin !== undefined) return `is not an option of a ${kind} server; use "${twin}"`;
  const owners = Object.entries(KEYS).filter(([, keys]) => keys.includes(key));
  if (owners.length === 0) return undefined;
  return `is not an option of a ${kind} server (only of ${owners.map(([owner]) => owner).join(", ")})`;
}

/** The configuration of one server. It may only be used if no problem was reported. */
export function readConfig(
  name: string,
  reader: EntryReader,
  options: { baseDir?: string | undefined; extraKeys?: readonly string[] | undefined },
): ServerConfig | undefined {
  const kind = readServerKind(reader);
  if (kind === undefined) return undefined;
  const known = [...COMMON_KEYS, ...KEYS[kind], ...(options.extraKeys ?? [])];
  reader.rejectUnknown(known, (key) => explainMisplaced(kind, key));
  return freezeConfig(READERS[kind]({ name, reader, baseDir: options.baseDir }));
}
