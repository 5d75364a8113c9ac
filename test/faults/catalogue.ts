/** Every fault and every duty of a client that has a test here, by its id; manifest.test.ts checks that none is missing. */

/** One fault: what is done to Toolport, and how long Toolport may take to report it. */
export interface Fault {
  readonly inject: string;
  /** From injection to settled promise, where one figure fits the whole row. */
  readonly bound?: string;
}

export const FAULTS = {
  // Processes
  P01: { inject: "server kills itself 200 ms into a call", bound: "0.5 s, back in 3 s" },
  P02: {
    inject: "exit 1 with stderr before the handshake; ENOENT, EACCES, a directory as command",
    bound: "1 s",
  },
  P04: { inject: "crash loop", bound: "60 s" },
  P05: { inject: "ignores end of file and SIGTERM", bound: "5 s" },
  P06: { inject: "a server behind sh -c, close()", bound: "5 s" },
  P07: { inject: "host killed, server ignores end of file", bound: "3 s" },
  P08: { inject: "host ends by SIGTERM, SIGINT, uncaught exception, process.exit", bound: "3 s" },
  P09: { inject: "SIGSTOP during a call", bound: "timeout of the call" },
  P10: { inject: "closes stdout only; exits while a daemon holds stdout", bound: "2 s" },
  P11: { inject: "never reads stdin, 8 MiB of arguments", bound: "timeout of the call" },
  P12: { inject: "5 MiB, then 1 GiB to stderr", bound: "2 s" },
  P14: { inject: "too few descriptors for 50 servers", bound: "2 s" },
  P16: { inject: "docker hangs, exits 125, prints progress on stdout", bound: "5 s" },
  // Network and transports
  N01: { inject: "session unknown: 404, 400, 401, 410, -32001, -32600", bound: "2 s" },
  N03: { inject: "reset in the middle of an answer; answer stream dropped", bound: "2 s" },
  N04: {
    inject: "accepts and is silent; headers, then silent; one byte a second",
    bound: "10 s / 60 s / 300 s",
  },
  N07: {
    inject: "429 and 503 with Retry-After: seconds, date, far away, negative, garbage",
    bound: "3 attempts",
  },
  N08: { inject: "captive portal, 204, empty 200, truncated JSON, wrong charset, gzip bomb", bound: "1 s" },
  N09: { inject: "redirects to another origin, a loop, a foreign endpoint event", bound: "1 s" },
  N11: { inject: "odd event streams: retry, NUL ids, CR, BOM, single bytes, U+0085" },
  N12: { inject: "300 MB of event data without an end", bound: "2 s" },
  N13: { inject: "WebSocket: no pong, abnormal closes, 100 MB frame, text and binary", bound: "30 s" },
  N15: { inject: "TLS: expired, wrong host, self-signed", bound: "2 s" },
  N17: { inject: "fallback: primary dies and returns" },
  // Protocol garbage
  R01: { inject: "log lines, blank lines, NUL, invalid UTF-8, half JSON on stdout" },
  R04: { inject: "batch array; a million elements inside 4 MiB", bound: "1 s" },
  R05: { inject: "flood of requests by the server" },
  R07: { inject: "cursor: same for ever, 100,000 pages, an object, an empty string", bound: "5 s" },
  R08: {
    inject: "protocol version of the future, a number, none; silent probe; modern 400; list not found",
    bound: "10 s",
  },
  R09: {
    inject: "progress: unknown, falling, flood, for ever; endless input rounds, 5 MB request state",
    bound: "300 s",
  },
  R10: { inject: "list hangs; ping hangs", bound: "15 s" },
  // Schema garbage
  X01: { inject: "recursive schemas", bound: "100 ms" },
  X02: { inject: "properties 10,000 deep", bound: "200 ms" },
  X03: {
    inject: "100,000 enum values, 5,000 subschemas, 4 MiB of schema, allOf to the 20th",
    bound: "200 ms",
  },
  X04: { inject: "patterns that do not compile everywhere", bound: "100 ms" },
  X05: { inject: "a pattern that takes for ever", bound: "1 s" },
  X06: { inject: "remote $ref; $id used twice", bound: "100 ms" },
  X08: { inject: "invalid names and schemas" },
  X10: { inject: "output that does not match its schema" },
  // Content garbage
  C02: { inject: "64 and 100 MB of text on every transport; a legal 9.9 MiB in 4 KiB chunks", bound: "2 s" },
  C04: { inject: "escape sequences, bidi, tag characters; an error that echoes a token" },
  // Authorization
  A01: { inject: "expired token, 50 calls at once", bound: "1 s" },
  A02: { inject: "as A01, eight processes, rotating refresh token" },
  A04: { inject: "invalid_grant with a newer token in the store; refresh winner killed", bound: "2 s" },
  A05: { inject: "server rejects every token; always insufficient_scope", bound: "2 s" },
  A06: { inject: "metadata names an evil authorization server", bound: "1 s" },
  A07: { inject: "wrong issuer, iss, state; no PKCE", bound: "1 s" },
  A08: { inject: "authorization endpoints that are not web pages", bound: "1 s" },
  A09: { inject: "private addresses in every metadata field, redirects, rebinding", bound: "1 s" },
  A11: { inject: "metadata of 5 MB, HTML, silence, 1,000 authorization servers", bound: "10 s" },
  A13: { inject: "callback: wrong path, replay, script, two tabs, busy port, no callback", bound: "5 min" },
  A15: { inject: "two users in one process" },
  // Storage
  D01: { inject: "database of random bytes, truncated, empty, of a newer version", bound: "1 s" },
  D02: { inject: "writer lock held for 10 s", bound: "5 s" },
  D03: { inject: "disk full, file size limit, read-only folder", bound: "1 s" },
  D04: { inject: "kill -9 at a random moment, 200 rounds" },
  D05: { inject: "2 and 8 processes write one row 10,000 times" },
  D06: { inject: "Redis and PostgreSQL: down, dying, slow, failing over, refusing", bound: "5 s" },
  D07: { inject: "open mode, symlink, other owner, wrong key", bound: "1 s" },
  // Configuration
  K01: { inject: "files without a configuration, or with a dangerous one" },
  K03: { inject: "approved configuration changed" },
  K05: { inject: "servers removed, renamed, reloaded under load" },
  // Load
  L01: { inject: "1,000 HTTP connections and 200 processes", bound: "60 s" },
  L02: { inject: "10,000 calls in flight, one server and a hundred" },
  L05: { inject: "a million calls, ten thousand reconnects" },
  // Life cycle
  Y01: { inject: "close twice, while connecting, during a call; call after close", bound: "5 s" },
  Y02: { inject: "five connects at once" },
  Y03: { inject: "abort before and during connect, during a call, after the answer", bound: "0.5 s" },
  Y04: { inject: "callbacks of the user that throw" },
  Y06: { inject: "await using, end of a worker, cluster, references dropped", bound: "5 s" },
  // Programs of a model (code mode)
  E01: { inject: "the program looks for process, require, fetch, timers, WebAssembly, import()" },
  E02: { inject: "function constructors reached from a tool, an error, a result" },
  E03: { inject: "a result with __proto__, constructor, then, toJSON" },
  E04: {
    inject: "the program replaces JSON.stringify, Promise.prototype.then, Map.prototype.get, Array.prototype",
  },
  E05: { inject: "proxies, getters and toJSON in arguments" },
  E06: { inject: "a thenable, a cycle, a throwing getter as result" },
  E07: { inject: "loops without end: for, await null, microtasks", bound: "limit + 0.3 s" },
  E08: { inject: "backtracking patterns, a comparator that never agrees" },
  E09: { inject: "indexOf on megabytes, replaceAll bomb, an array of 1e9 as text", bound: "limit + 0.3 s" },
  E10: { inject: "string, array and typed-array bombs" },
  E11: { inject: "deep recursion, caught in a loop; deep JSON" },
  E12: { inject: "a million lines of output; a result of 5 MB" },
  E13: { inject: "one call more than the limit" },
  E14: { inject: "a call that never answers; a wait for nothing" },
  E15: { inject: "calls that are not awaited at the end" },
  E16: { inject: "text that closes the wrapper of the program" },
  E17: { inject: "inner calls that are refused, withheld or changed" },
  E18: {
    inject: "an approval in the middle, continued by another code mode; a used, forged or foreign token",
  },
  E19: { inject: "unknown servers, tools and names" },
  E20: {
    inject: "the worker dies, the caller aborts, close() in the middle; a tool asks for code to be run",
  },
} as const satisfies Record<string, Fault>;

/** What the specification asks of a client. */
export const DUTIES = {
  S1: "authorization URL: https, or http on loopback, nothing else",
  S2: "no URL is opened through a shell",
  S3: "issuer of the metadata equals the issuer asked for",
  S4: "iss in the callback is checked against the recorded issuer",
  S5: "PKCE with S256 always; refused when not advertised",
  S6: "resource in authorize, token and refresh requests",
  S7: "resource of the metadata is the server connected to",
  S8: "credentials belong to one issuer and go to no other",
  S9: "tokens in the Authorization header only, to their server only",
  S10: "no OAuth URL reaches a private network",
  S11: "state is used and verified",
  S12: "redirect URI registered, native client",
  S13: "tokens are sealed at rest and in no log",
  S14: "few retries on 401 and 403, then a lasting failure",
  S15: "no $ref is fetched from a network",
  S16: "schemas are bounded in depth, size and time",
  S17: "a bad x-mcp-header costs its own tool only",
  S18: "header values are encoded",
  S19: "resultType and requestState are taken as specified",
  S20: "cached answers are never shared across users",
  S21: "the server is notified of an abort in the form of its era",
  S22: "every request has a time limit, progress or not",
  S23: "404 with a session begins a new one",
  S24: "retry and Last-Event-ID of event streams are honoured",
  S25: "a process is closed step by step, restarted, its subscriptions reopened",
  S26: "consent shows the exact command",
  S27: "a session id is a secret and no authentication",
  S28: "a URL for the user is shown whole and never fetched",
  S29: "hints of a server alone license no retry",
  S30: "tools of two servers have two names",
  S31: "no more scope than needed",
  S32: "console: policy, token, origin, host, loopback",
} as const satisfies Record<string, string>;

export type FaultId = keyof typeof FAULTS;
export type DutyId = keyof typeof DUTIES;
export type CaseId = FaultId | DutyId;

/** The description of an id, in one line. */
export function describeCase(id: CaseId): string {
  return id in FAULTS ? FAULTS[id as FaultId].inject : DUTIES[id as DutyId];
}
