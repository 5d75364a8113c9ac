/** The callback URL of a login: a path below the address of the agent. */
import { canParseUrl } from "../../util/text.js";

const LOOPBACK: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

export const DEFAULT_AGENTS_PREFIX = "agents";

export interface CallbackPlace {
  /** With or without a scheme and a path. Without a scheme: https, or http on this machine. */
  readonly host: string;
  readonly prefix: string;
  /** Name of the agent's class. */
  readonly agent: string;
  /** Name of this one agent of its class. */
  readonly name: string;
}

/**
 * `<host>/<prefix>/<class, in kebab-case>/<name>/callback`, which Cloudflare's routing maps to the agent.
 *
 * @example
 * ```ts
 * callbackUrl({ host: "app.example.com", prefix: "agents", agent: "MyAgent", name: "ada" });
 * // "https://app.example.com/agents/my-agent/ada/callback"
 * ```
 */
export function callbackUrl({ host, prefix, agent, name }: CallbackPlace): string {
  const lead = prefix
    .split("/")
    .filter((part) => part !== "")
    .map((part) => `/${encodeURIComponent(part)}`)
    .join("");
  return `${withScheme(host).replace(/\/+$/, "")}${lead}${callbackSuffix(agent, name)}`;
}

/** The end of the callback path of this agent, for any host and prefix. */
export const callbackSuffix = (agent: string, name: string): string =>
  `/${encodeURIComponent(toKebabCase(agent) || "agent")}/${encodeURIComponent(name)}/callback`;

/** The host of a request. A proxy that terminates TLS turns https into http. */
export function originOf({ url }: Pick<Request, "url">): string | undefined {
  if (!canParseUrl(url)) return undefined;
  const { protocol, host, hostname } = new URL(url);
  const isPlain = protocol === "http:" && LOOPBACK.includes(hostname);
  return `${isPlain ? "http" : "https"}://${host}`;
}

function withScheme(host: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(host)) return host;
  const isLocal = canParseUrl(`http://${host}`) && LOOPBACK.includes(new URL(`http://${host}`).hostname);
  return `${isLocal ? "http" : "https"}://${host}`;
}

/** Kebab-case as in Cloudflare's routing of class names. */
export function toKebabCase(name: string): string {
  if (name === name.toUpperCase() && name !== name.toLowerCase())
    return name.toLowerCase().replaceAll("_", "-");
  return name
    .replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    .replace(/^-/, "")
    .replaceAll("_", "-")
    .replace(/-$/, "");
}
