/** Checks the network path to a remote server: proxy, DNS, TLS, HTTP status, and clock skew. */
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

/** The result of a plain GET request. */
export interface Probe {
  readonly findings: readonly Finding[];
  /** The response without its body; undefined if there was none. */
  readonly answer?: Response | undefined;
}

const TIMEOUT_MS = 10_000;
/** Larger clock skews may make tokens and signatures invalid. */
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
    // Behind a proxy, only the proxy may be able to resolve the name.
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
    // Use our own client: unlike `fetch`, no environment variable disables its certificate checks.
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
      ? `The server did not respond within ${TIMEOUT_MS / 1000} s`
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
          message: `Connects through the proxy ${via.host} (${via.source})`,
        },
      ];

function statusFinding({ status, headers }: Response, url: URL, server: string): Finding {
  const base = { check: url.protocol === "https:" ? "tls and http" : "http", server };
  const message = `${url.host} responds with HTTP ${status} to a plain GET`;
  if (status >= 500)
    return {
      ...base,
      status: "fail",
      message,
      next: "Check the server's log",
      exitCode: EXIT.unreachable,
    };
  if (status === 404)
    return {
      ...base,
      status: "warn",
      message: `${message}: there is nothing at this path`,
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
  // The header has a resolution of one second, and the response took some time.
  const skewMs = theirs < startedAt - 1_000 ? theirs - startedAt : theirs > endedAt ? theirs - endedAt : 0;
  if (Math.abs(skewMs) < SKEW_MS)
    return [
      { check: "clock", server, status: "ok", message: "The server's clock and this machine's clock agree" },
    ];
  const seconds = Math.round(Math.abs(skewMs) / 1_000);
  return [
    {
      ...{ check: "clock", server, status: "warn" },
      message: `The server's clock is ${seconds} s ${skewMs > 0 ? "ahead of" : "behind"} this machine's; tokens may look expired`,
      next: "Synchronize this machine's clock (NTP)",
    },
  ];
}
