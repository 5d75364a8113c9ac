/** The last messages between the port and its servers, lines of stderr, and requests to authorization servers. */

import type { AuthRequest, ServerMessage } from "../port/events.js";
import { BoundedMap } from "../util/collections.js";
import type { Fields } from "../util/json.js";
import { redactText } from "../util/redact-text.js";
import { redactJson, weigh } from "./redact-json.js";

const MAX_ENTRIES = 2_000;
/** Maximum size of all contents, in characters. The contents of the oldest are discarded first. */
const MAX_WEIGHT = 8_000_000;
const MAX_WEIGHT_OF_ONE = 1_000_000;
/** Requests whose response is awaited: the response has no method of its own. */
const MAX_OPEN = 1_000;

/** A message, a line of stderr, or a request to an authorization server. */
export interface TrafficEntry {
  readonly id: number;
  readonly at: number;
  readonly server: string;
  readonly kind: "request" | "response" | "error" | "notification" | "stderr" | "auth";
  readonly direction: "sent" | "received";
  /** The method, the line, or what the request is for. */
  readonly label: string;
  /** Approximate size in characters. */
  readonly size: number;
  /** With a response: the time since the request. */
  readonly durationMs?: number | undefined;
}

interface Logged {
  readonly entry: TrafficEntry;
  content: unknown;
  readonly redact: (text: string) => string;
  weight: number;
}

export class TrafficLog {
  readonly #logged = new Map<number, Logged>();
  /** By server, direction and id. */
  readonly #open = new BoundedMap<string, { readonly method: string; readonly at: number }>(MAX_OPEN);
  readonly #onEntry: (entry: TrafficEntry) => void;
  #last = 0;
  #weight = 0;

  /** @param onEntry called for every new entry */
  constructor(onEntry: (entry: TrafficEntry) => void) {
    this.#onEntry = onEntry;
  }

  addMessage({ server, direction, message, redact }: ServerMessage): void {
    // One message may be a batch of several.
    for (const each of Array.isArray(message) ? message : [message])
      this.#addOne({ server, direction, redact }, (each ?? {}) as Fields);
  }

  addLine(server: string, line: string): void {
    const facts = { kind: "stderr", direction: "received", label: redactText(line.slice(0, 300)) } as const;
    this.#add({ server, ...facts }, line);
  }

  addAuthRequest({ server, principal: _, ...request }: AuthRequest): void {
    const { step, status } = request;
    const durationMs = Math.round(request.durationMs);
    const label = `${step}: ${status ?? "no response"}`;
    this.#add({ server, kind: "auth", direction: "sent", label, durationMs }, { ...request, durationMs });
  }

  /** Newest first, optionally of one server or one kind. */
  list(server?: string, kind?: string): TrafficEntry[] {
    return [...this.#logged.values()]
      .map(({ entry }) => entry)
      .filter((entry) => (server ?? entry.server) === entry.server && (kind ?? entry.kind) === entry.kind)
      .reverse();
  }

  view(id: number) {
    const logged = this.#logged.get(id);
    return logged && { ...logged.entry, content: toContent(logged) };
  }

  clear(): void {
    this.#logged.clear();
    this.#open.clear();
    this.#weight = 0;
  }

  #addOne(origin: Omit<ServerMessage, "message" | "principal">, message: Fields): void {
    const { server, direction, redact } = origin;
    const { method, id } = message;
    const isRequest = typeof method === "string" && id !== undefined;
    if (isRequest) {
      this.#open.set(`${server}\n${direction}\n${String(id)}`, { method, at: Date.now() });
      return this.#add({ server, direction, kind: "request", label: method }, message, redact);
    }
    if (typeof method === "string")
      return this.#add({ server, direction, kind: "notification", label: method }, message, redact);
    // The response travels in the opposite direction.
    const key = `${server}\n${direction === "sent" ? "received" : "sent"}\n${String(id)}`;
    const request = this.#open.get(key);
    this.#open.delete(key);
    const kind = "error" in message ? "error" : "response";
    const label = request?.method ?? "response";
    const durationMs = request && Date.now() - request.at;
    this.#add({ server, direction, kind, label, ...(request && { durationMs }) }, message, redact);
  }

  #add(
    facts: Omit<TrafficEntry, "id" | "at" | "size">,
    content: unknown,
    redact: (text: string) => string = (text) => text,
  ): void {
    const size = weigh(content);
    const isTooLarge = size > MAX_WEIGHT_OF_ONE;
    const entry = { ...facts, id: ++this.#last, at: Date.now(), size };
    const weight = isTooLarge ? 0 : size;
    const kept = isTooLarge ? "Too large to keep" : content;
    this.#logged.set(entry.id, { entry, content: kept, redact, weight });
    this.#weight += weight;
    for (const [id, logged] of this.#logged) {
      if (this.#logged.size <= MAX_ENTRIES) break;
      this.#weight -= logged.weight;
      this.#logged.delete(id);
    }
    for (const logged of this.#logged.values()) {
      if (this.#weight <= MAX_WEIGHT) break;
      this.#weight -= logged.weight;
      Object.assign(logged, { content: "Discarded to save memory", weight: 0 });
    }
    this.#onEntry(entry);
  }
}

/** Redacts when a page asks for it: most messages are never looked at. */
function toContent({ content, redact }: Logged): unknown {
  const shown = redactJson(content) ?? null;
  return JSON.parse(JSON.stringify(shown), (_name, value: unknown) =>
    typeof value === "string" ? redact(value) : value,
  );
}
