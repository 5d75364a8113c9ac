/**
 * User interfaces of tools (MCP Apps) for the page. Their documents come from servers and are not trusted: each is served once, under a
 * path that cannot be guessed, with a policy that the console writes.
 *
 * @see https://github.com/modelcontextprotocol/ext-apps
 */

import { randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import { canParseUrl, hideCredentials, isRecord, type ToolInfo } from "@toolport/base";
import type { Toolport } from "@toolport/core";
import { canonicalHost, isLiteralAddress } from "@toolport/http";
import type { Consent } from "./consent.js";
import type { Observer } from "./observer.js";
import { BadRequest } from "./read-body.js";
import { redactJson } from "./redact-json.js";

export const APP_PATH = "/apps/";
/** Oldest apps are forgotten first. */
const MAX_APPS = 16;
const MAX_DOCUMENT = 8_000_000;
const MAX_ORIGINS = 50;

interface App {
  readonly server: string;
  /** Last part of the document's path. */
  readonly document: string;
  readonly policy: string;
  /** Removed when it is served. */
  body: string | undefined;
}

export class ConsoleApps {
  readonly #toolport: Toolport;
  readonly #consent: Consent;
  readonly #apps = new Map<string, App>();

  constructor({ toolport, consent }: Pick<Observer, "toolport" | "consent">) {
    this.#toolport = toolport;
    this.#consent = consent;
  }

  /** Reads the user interface of a tool. */
  async open(name: string, { agreed, signal }: { agreed: unknown; signal: AbortSignal }) {
    const tool = this.#toolport.snapshot().tools.find((candidate) => candidate.name === name);
    const uri = tool?.ui?.resourceUri;
    if (tool === undefined || uri === undefined) throw new BadRequest(404, "This tool has no app");
    const { server, sourceName, title = sourceName, inputSchema } = tool;
    this.#consent.require([server], agreed);
    const contents = await this.#toolport.readResource(server, uri, { signal, cache: false });
    const page = contents.find(({ mimeType = "" }) => /^text\/html\s*(?:;|$)/i.test(mimeType));
    if (page === undefined) throw new BadRequest(400, `The resource ${uri} of ${server} is not HTML`);
    const body =
      "text" in page ? String(page.text) : Buffer.from(String(page["blob"]), "base64").toString("utf8");
    if (body.length > MAX_DOCUMENT)
      throw new BadRequest(400, `The resource ${uri} of ${server} is too large to show`);
    const ui = page._meta?.["ui"];
    const { policy, refused } = await writePolicy(isRecord(ui) ? ui["csp"] : undefined);
    const [id, document] = [newId(), newId()];
    this.#apps.set(id, { server, document, policy, body });
    for (const oldest of this.#apps.keys()) {
      if (this.#apps.size <= MAX_APPS) break;
      this.#apps.delete(oldest);
    }
    return {
      id,
      /** Where its document can be loaded, once. */
      path: `${APP_PATH}${document}`,
      server,
      /** As its server calls it. */
      tool: { name: sourceName, title, inputSchema: redactJson(inputSchema) },
      /** Declared origins that the app cannot reach. */
      refused: refused.map((origin) => hideCredentials(origin.slice(0, 200))),
    };
  }

  /** The public name of a tool that an app may call: one of its own server that is visible to apps. */
  findTool(id: string, sourceName: string): string {
    const app = this.#apps.get(id);
    if (app === undefined) throw new BadRequest(404, "This app is closed");
    const tool = this.#toolport
      .snapshot()
      .tools.find((candidate) => candidate.server === app.server && candidate.sourceName === sourceName);
    if (tool === undefined || !isForApp(tool))
      throw new BadRequest(403, `${app.server} has no tool of this name for apps`);
    return tool.name;
  }

  close(id: string): void {
    this.#apps.delete(id);
  }

  /** Sends a document. Returns false if it is unknown or was sent before. */
  serve(document: string, response: ServerResponse): boolean {
    const app = [...this.#apps.values()].find((candidate) => candidate.document === document);
    if (app?.body === undefined) return false;
    response.writeHead(200, {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": app.policy,
      "x-frame-options": "SAMEORIGIN",
      "x-dns-prefetch-control": "off",
      "permissions-policy":
        "camera=(), microphone=(), geolocation=(), display-capture=(), usb=(), serial=(), hid=()",
    });
    response.end(app.body);
    app.body = undefined;
    return true;
  }
}

/** Whether apps of the same server may call the tool. */
const isForApp = ({ ui }: ToolInfo): boolean => ui?.visibility?.includes("app") ?? true;

const newId = (): string => randomBytes(32).toString("base64url");

/** The policy of an app's document, and the declared origins that are not in it. */
export async function writePolicy(csp: unknown): Promise<{ policy: string; refused: readonly string[] }> {
  const { isPrivateHost } = await import("@toolport/http/address-rule");
  const refused: string[] = [];
  const origins = (field: string): string => {
    const declared = isRecord(csp) ? csp[field] : undefined;
    if (!Array.isArray(declared)) return "";
    const allowed = declared.slice(0, MAX_ORIGINS).flatMap((text: unknown) => {
      const origin = toSource(text, isPrivateHost);
      // `String()` throws for some objects.
      if (origin === undefined) refused.push(typeof text === "string" ? text : JSON.stringify(text));
      return origin ?? [];
    });
    return [...new Set(allowed)].map((origin) => ` ${origin}`).join("");
  };
  const resources = origins("resourceDomains");
  const connections = origins("connectDomains");
  const frames = origins("frameDomains");
  const policy = [
    "default-src 'none'",
    `script-src 'unsafe-inline'${resources}`,
    `style-src 'unsafe-inline'${resources}`,
    `img-src data: blob:${resources}`,
    `font-src data:${resources}`,
    `media-src data: blob:${resources}`,
    `connect-src${connections || " 'none'"}`,
    `frame-src${frames || " 'none'"}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
    "webrtc 'block'",
    "sandbox allow-scripts",
  ].join("; ");
  return { policy, refused };
}

const WILDCARD = "https://*.";

/** A source of a policy, composed from the parsed URL: public, https, with a dot in its name. */
function toSource(declared: unknown, isPrivateHost: (host: string) => boolean): string | undefined {
  if (typeof declared !== "string" || declared.length > 300) return undefined;
  const isWild = declared.startsWith(WILDCARD);
  const text = isWild ? `https://${declared.slice(WILDCARD.length)}` : declared;
  if (!canParseUrl(text)) return undefined;
  const url = new URL(text);
  if (url.protocol !== "https:" || url.username !== "" || url.password !== "") return undefined;
  const host = canonicalHost(url);
  // The URL parser accepts characters in names that end a source or a directive.
  if (!/^[a-z\d-]+(?:\.[a-z\d-]+)+$/.test(host) || isPrivateHost(host)) return undefined;
  if (isWild && isLiteralAddress(host)) return undefined;
  return `https://${isWild ? "*." : ""}${host}${url.port && `:${url.port}`}`;
}
