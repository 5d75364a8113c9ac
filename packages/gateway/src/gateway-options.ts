/** The options of `createGateway`. */
import type { ToolFilter } from "@toolport/base";
import type { CodeModeOptions } from "@toolport/code";
import type { AuditOption } from "./audit/open-audit.js";
import type { GatewayUserOptions } from "./auth/auth-options.js";
import type { PolicyOption } from "./policy/create-policy.js";

/** The default of {@link GatewayOptions.maxBodyBytes}. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** Options of {@link createGateway}. */
export interface GatewayOptions extends GatewayUserOptions {
  /**
   * Host names that requests may name, without port. Protects local gateways from pages that rebind a domain to this machine.
   * Replaces the default.
   * @default the loopback names (`localhost`, `127.0.0.1`, `[::1]`), and the host of `url` if it is given
   */
  allowedHosts?: readonly string[];
  /** Origins of web pages that may send requests, e.g. `https://app.example.com`. @default none */
  allowedOrigins?: readonly string[];
  /** Names of the servers that a user may use: of the others there is no tool, prompt or resource. @default all servers */
  servers?: (principal: string | undefined) => readonly string[] | undefined;
  /** Only these tools, by the rules of `only` of `createToolport`. @default all tools */
  only?: readonly string[];
  /** Not these tools. @default none */
  except?: readonly string[];
  /** Only tools for which this function returns true. @default all tools */
  filter?: ToolFilter;
  /** Decides what users may see and do: a policy, an outside engine, or several. See docs/policies.md. @default everything is allowed */
  policy?: PolicyOption;
  /** Writes one line for each request to a file or a callback. See docs/policies.md. @default none */
  audit?: AuditOption;
  /**
   * Offer `search` and `execute` of code mode in place of all tools: clients send programs that call the tools. Each call of a
   * program is subject to the policy and the audit log like a call of the client. Needs the packages `quickjs-wasi` and `sucrase`.
   * See docs/gateway.md.
   *
   * @default false
   * @example
   * ```ts
   * createGateway(toolport, { auth: false, code: { limits: { calls: 20 } } });
   * ```
   */
  code?: boolean | CodeModeOptions;
  /** Also serve clients of the revisions up to 2025-11-25. @default true */
  legacy?: boolean;
  /** Largest body of a request. The bodies of all open requests of one user may have four times as many bytes. @default 4194304 (4 MiB) */
  maxBodyBytes?: number;
  /** How long a client may take to send a body; then it gets 408. @default 30000 */
  bodyTimeoutMs?: number;
  /** Open streams of all users together. @default 10000 */
  maxStreams?: number;
  /** Open streams of one user; further ones get 429. @default a tenth of `maxStreams`, or `maxStreams` without users */
  maxStreamsPerUser?: number;
  /** Users at the same time. The one that was idle longest is let go for a new one. @default 10000 */
  maxUsers?: number;
  /** A user without requests and streams is let go after this time. @default 900000 (15 minutes) */
  userIdleMs?: number;
  /**
   * Requests of one user per second; others get 429. Refused requests count, and each message of a batch. Calls of programs count, and
   * wait for up to 10 s. @default no limit
   */
  rateLimit?: { perSecond: number; burst?: number };
  /**
   * Requests of one user at the same time; others get 429. So do requests whose bodies are being read, and calls that wait for an
   * answer of their client. Calls of programs count, and wait. @default 64
   */
  concurrency?: number;
  /** How long `requestState` of clients is valid. @default 600000 (10 minutes) */
  stateTtlMs?: number;
  /** How long a call waits for an answer of its client: to an approval, or to a question of the server. @default 600000 (10 minutes) */
  questionTimeoutMs?: number;
  /** How long `close()` waits for open requests, and `stdio()` after the end of the input. @default 10000, over stdio 500 */
  drainMs?: number;
  /** Pass the OpenTelemetry `baggage` of clients on to servers. @default false */
  baggage?: boolean;
}
