/** Checks the way to a server with an address: its name, TLS, the status of a plain request, and whose clock is wrong. */
import { lookup } from "node:dns/promises";
import type { HttpConfig, SseConfig, WebSocketConfig } from "../../config/server-config.js";
import { readField } from "../../errors/foreign-error.js";
import { fromSystemError } from "../../errors/from-system-error.js";
import { toToolportError } from "../../errors/to-toolport-error.js";
import { ToolportError } from "../../errors/toolport-error.js";
import { createHttpClient } from "../../transports/create-transport.js";
import { createProxyRoutes } from "../../transports/http/network/proxy/proxy-routes.js";
import type { ProxyServer } from "../../transports/http/network/proxy/proxy-server.js";
import { redirectError } from "../../transports/http/network/redirect.js";
import { EXIT } from "../exit-codes.js";
import type { Finding } from "./finding.js";

export type RemoteConfig = HttpConfig | SseConfig | WebSocketConfig;

/** What a plain request found out. */
export interface Probe {
  readonly findings: readonly Finding[];
  /** The answer, its body dropped; undefined if there was none. */
  readonly answer?: Response | undefined;
}

const TIMEOUT_MS = 10_000;
/** Tokens and signatures are refused long before a clock is an hour off. */
const SKEW_MS = 60_000;

export async function probeAddress(config: RemoteConfig, signal: AbortSignal): Promise<Probe> {
  const server = config.name;
  const url = new URL(config.url);
  url.protocol = url.protocol.replace("ws", "http");
  const failed = (check: string, message: string, next: string): Probe => ({
    findings: [{ check, server, status: "fail", message, next, exitCode: EXIT.unreachable }],
  });
  const option = config.proxy?.reveal() ?? "env";
  let via: ProxyServer | undefined;
  try {
    via = createProxyRoutes(option)(url);
  } catch (error) {
    const { what, next = "Correct it" } = toToolportError(error);
    return failed("proxy", what, next);
  }
  try {
    // Names of the network outside may only be known to the proxy.
    if (via === undefined) await lookup(url.hostname.replace(/^\[|\]$/g, ""));
  } catch (error) {
    const code = String(readField(error, "code") ?? "unknown reason");
    return failed(
      "dns",
      `The host ${url.hostname} was not found (${code})`,
      "Check the host name and the network",
    );
  }
  const client = await createHttpClient({ proxy: option });
  const startedAt = Date.now();
  try {
    // Our own client, not `fetch`: no variable of the environment switches its certificate checks off.
    const answer = await client.fetch(url, {
      headers: { accept: "application/json, text/event-stream" },
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    await answer.body?.cancel();
    const clock = checkClock(answer, { server, startedAt, endedAt: Date.now() });
    return {
      findings: [...proxyFindings(via, server), statusFinding(answer, url, server), ...clock],
      answer,
    };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const known = ToolportError.isInstance(error) ? error : fromSystemError(error, { server });
    const isLate = readField(error, "name") === "TimeoutError";
    const what = isLate
      ? `Nothing came back within ${TIMEOUT_MS / 1000} s`
      : "The server could not be reached";
    const isTls = known?.retryable === false && url.protocol === "https:";
    return failed(
      isTls ? "tls" : "http",
      known?.what ?? what,
      known?.next ?? "Check the URL and the network",
    );
  } finally {
    await client.close();
  }
}

const proxyFindings = (via: ProxyServer | undefined, server: string): Finding[] =>
  via === undefined
    ? []
    : [
        {
          check: "proxy",
          server,
          status: "ok",
          message: `Goes through the proxy ${via.host} (${via.source})`,
        },
      ];

function statusFinding({ status, headers }: Response, url: URL, server: string): Finding {
  const base = { check: url.protocol === "https:" ? "tls and http" : "http", server };
  const message = `${url.host} answers, HTTP ${status} to a plain GET`;
  if (status >= 500)
    return {
      ...base,
      status: "fail",
      message,
      next: "Look at the server's own log",
      exitCode: EXIT.unreachable,
    };
  if (status === 404)
    return {
      ...base,
      status: "warn",
      message: `${message}: nothing is at this path`,
      next: "Check the path of its URL",
    };
  if (status >= 300 && status < 400) {
    const { what, next = "Check its URL" } = redirectError({ status, headers }, url, "POST");
    return { ...base, status: "warn", message: `${message}. ${what}`, next };
  }
  return { ...base, status: "ok", message };
}

interface Exchange {
  readonly server: string;
  readonly startedAt: number;
  readonly endedAt: number;
}

function checkClock({ headers }: Response, { server, startedAt, endedAt }: Exchange): Finding[] {
  const theirs = Date.parse(headers.get("date") ?? "");
  if (Number.isNaN(theirs)) return [];
  // The header has whole seconds, and the answer was on its way for a while.
  const skewMs = theirs < startedAt - 1_000 ? theirs - startedAt : theirs > endedAt ? theirs - endedAt : 0;
  if (Math.abs(skewMs) < SKEW_MS)
    return [{ check: "clock", server, status: "ok", message: "Both clocks agree" }];
  const seconds = Math.round(Math.abs(skewMs) / 1_000);
  return [
    {
      ...{ check: "clock", server, status: "warn" },
      message: `The server's clock is ${seconds} s ${skewMs > 0 ? "ahead of" : "behind"} this machine's; tokens may look expired`,
      next: "Set this machine's clock by the network (NTP)",
    },
  ];
}
