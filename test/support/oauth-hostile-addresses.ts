/** Addresses that a hostile server may name, and helpers to detect requests to them. */
import dns from "node:dns";
import { syncBuiltinESMExports } from "node:module";
import { type ConnectReport, createToolport, type OAuthOptions } from "toolport";
import { CALLBACK_URL } from "./oauth-callback-url.js";
import type { HostileServer, Lies } from "./oauth-hostile-server.js";

/** Spellings of addresses on this machine or in private networks. The hostile server itself is at 127.0.0.3. */
export const PRIVATE_HOSTS = [
  "127.0.0.1",
  "127.0.0.2",
  "127.1",
  "2130706433",
  "0x7f000001",
  "0x7f.0.0.1",
  "0177.0.0.1",
  "017700000001",
  "0.0.0.0",
  "0",
  "localhost",
  "LOCALHOST",
  "localhost.",
  "app.localhost",
  "127.0.0.1.",
  "１２７.０.０.１",
  "127。0。0。1",
  "%31%32%37.0.0.1",
  "[::1]",
  "[::]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[0:0:0:0:0:ffff:7f00:1]",
  "169.254.169.254",
] as const;

/** Metadata fields with URLs, and functions that set them to an address. */
export const ADDRESS_FIELDS = {
  resource_metadata: (origin) => ({ resourceMetadata: `${origin}/.well-known/oauth-protected-resource` }),
  authorization_servers: (origin) => ({ authorizationServers: [origin] }),
  authorization_endpoint: (origin) => ({ metadata: { authorization_endpoint: `${origin}/authorize` } }),
  token_endpoint: (origin) => ({ metadata: { token_endpoint: `${origin}/token` } }),
  registration_endpoint: (origin) => ({ metadata: { registration_endpoint: `${origin}/register` } }),
} as const satisfies Readonly<Record<string, (origin: string) => Lies>>;

export type AddressField = keyof typeof ADDRESS_FIELDS;
export const addressFields = Object.keys(ADDRESS_FIELDS) as AddressField[];

/** Requests before a login, in order, whose response may be a redirect. */
export const REDIRECTING_PATHS = [
  "/.well-known/oauth-protected-resource/mcp",
  "/.well-known/oauth-authorization-server",
  "/register",
  "/token",
] as const;

/** Login pages that no browser may open. */
export const WILD_LOGIN_PAGES = [
  "javascript:alert(document.cookie)",
  "JaVaScRiPt:alert(1)//https://example.com/",
  "data:text/html,<script>alert(1)</script>",
  "file:///etc/passwd",
  "vbscript:msgbox(1)",
  "ms-msdt:/id PCWDiagnostic",
  "vscode://file/etc/passwd",
  "blob:https://example.com/1",
  "about:blank",
  "chrome://settings",
  "smb://example.com/share",
  "mailto:ada@example.com",
  "ftp://example.com/authorize",
  "http://example.com/authorize",
  "https://user@example.com/authorize",
  "https://user:secret@example.com/authorize",
  "https://example.com/authorize\r\nX-Injected: yes",
  'https://example.com/authorize?"$(touch owned)"',
  "https://example.com/authorize?`touch owned`",
  "https://example.com/authorize;touch owned",
  "https://example.com/authorize|calc.exe",
  "//example.com/authorize",
  "/authorize",
  "",
  42,
  null,
] as const;

export interface LoginAttempt {
  readonly report: ConnectReport["servers"][string];
  /** The error of the callback, if there was a login page and the callback failed. */
  readonly finished: unknown;
}

/** Connects, and completes the login if one is offered. */
export async function tryToLogIn(
  server: HostileServer,
  lies: Lies,
  oauth?: OAuthOptions,
): Promise<LoginAttempt> {
  server.lies = lies;
  const entry = { url: server.url, ...(oauth && { oauth }) };
  await using toolport = createToolport({ mcpServers: { a: entry }, callbackUrl: CALLBACK_URL });
  const report = (await toolport.connect()).servers["a"] as ConnectReport["servers"][string];
  let finished: unknown;
  if (report.authUrl !== undefined) {
    const state = new URL(report.authUrl).searchParams.get("state") ?? "";
    const back = new URLSearchParams({ code: "made-up", state, iss: server.origin });
    finished = await toolport.finishAuth("a", back).catch((error: unknown) => error);
  }
  return { report, finished };
}

export const REBINDING_HOST = "rebinding.example";

/** Counts as public; returned with the wrong family, so that the connection fails before a packet is sent. */
const PUBLIC = "8.8.8.8";

/** Results of the first lookup, the second, and so on. */
export const REBINDINGS: Readonly<Record<string, readonly string[]>> = {
  "private at once": ["127.0.0.1"],
  "private at the second look": [PUBLIC, "127.0.0.1"],
  "mapped into IPv6": ["::ffff:127.0.0.1"],
  "public, then mapped": [PUBLIC, "::ffff:7f00:1"],
};

export interface RebindingResolver extends Disposable {
  /** Starts again with these results for {@link REBINDING_HOST}. */
  answer(addresses: readonly string[]): void;
}

/** Replaces the system's resolver for one name. */
export function installRebindingResolver(): RebindingResolver {
  const { lookup } = dns;
  let answers: readonly string[] = [];
  let asked = 0;
  const resolve = (hostname: string, options: dns.LookupOptions, callback: (...args: unknown[]) => void) => {
    if (hostname !== REBINDING_HOST) return lookup(hostname, options, callback as never);
    const address = answers[Math.min(asked++, answers.length - 1)] as string;
    const family = address === PUBLIC || address.includes(":") ? 6 : 4;
    const answer = options.all ? [[{ address, family }]] : [address, family];
    setImmediate(callback, null, ...answer);
  };
  dns.lookup = resolve as never;
  syncBuiltinESMExports();
  return {
    answer(addresses) {
      [answers, asked] = [addresses, 0];
    },
    [Symbol.dispose]() {
      dns.lookup = lookup;
      syncBuiltinESMExports();
    },
  };
}
