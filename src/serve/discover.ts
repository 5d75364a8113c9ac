/** `initialize`, `server/discover` and `ping`: answered from memory, whatever the state of the servers. */
import type { Port } from "../port/port.js";
import { MODERN_VERSIONS } from "../protocol/era.js";
import { type Fields, isRecord } from "../util/is-record.js";
import { negotiateLegacy } from "./message.js";
import type { RequestContext } from "./request-context.js";
import { NOT_CACHED, resultText, SERVER_INFO } from "./results.js";

const MAX_INSTRUCTIONS = 8_192;

/** The same for every client and every moment, so that clients see no features come and go. */
const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  completions: {},
} as const;

export function initialize(context: RequestContext): string {
  const { request, user, client } = context;
  const instructions = instructionsOf(context);
  return resultText(client, {
    protocolVersion: negotiateLegacy(request.params["protocolVersion"]),
    capabilities: { ...CAPABILITIES, logging: {}, ...offered(user.port, "tasks") },
    serverInfo: SERVER_INFO,
    ...(instructions !== "" && { instructions }),
  });
}

export function discover(context: RequestContext): string {
  const { user, client } = context;
  const instructions = instructionsOf(context);
  const result = {
    supportedVersions: [...MODERN_VERSIONS],
    capabilities: { ...CAPABILITIES, ...offered(user.port, "extensions") },
    ...(instructions !== "" && { instructions }),
  };
  return resultText(client, result, { cache: NOT_CACHED });
}

export const ping = ({ client }: RequestContext): string => resultText(client, {});

/** What any connected server offers. */
function offered(port: Port, capability: "tasks" | "extensions"): Fields {
  const found: Record<string, unknown> = {};
  for (const { session } of port.pool.all()) {
    const given = (session?.capabilities as Fields | undefined)?.[capability];
    if (isRecord(given)) Object.assign(found, given);
  }
  return Object.keys(found).length === 0 ? {} : { [capability]: found };
}

/** The instructions of connected servers that the user may see, headed by their names. */
function instructionsOf({ parts, user, client }: RequestContext): string {
  const sections = user.port.pool.all().flatMap(({ name, session }) => {
    const text = session?.instructions?.trim();
    return text && parts.showsServer(client, name) ? [`## ${name}\n\n${text}`] : [];
  });
  return sections.join("\n\n").slice(0, MAX_INSTRUCTIONS);
}
