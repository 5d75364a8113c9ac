/** Turns requests into the lines of a chain: each line contains the hash of the one before it. */
import { createHash, randomBytes } from "node:crypto";
import { canonicalJson } from "../../catalog/safety/canonical-json.js";
import { definitionText } from "../../catalog/safety/definition-hash.js";
import {
  ARGUMENTS_PURPOSE,
  type AuditEntry,
  type AuditEvent,
  type AuditMac,
  LINE_PURPOSE,
} from "./audit-event.js";

/** Clients choose these texts, so they are cut. */
const MAX_TEXT = 512;

type Unsigned = { -readonly [Key in keyof Omit<AuditEvent, "mac">]: AuditEvent[Key] | undefined };

export interface ChainLine {
  readonly unsigned: Unsigned;
  readonly mac: string;
  /** With its line break. */
  readonly text: string;
}

export interface ChainOptions {
  readonly mac: AuditMac;
  /** Named in the id of the chain. */
  readonly replica: string;
  /** Write the arguments, not only their hash. */
  readonly includeArguments: boolean;
}

export class AuditChain {
  readonly #mac: AuditMac;
  readonly #includeArguments: boolean;
  readonly #id: string;
  #seq = 0;
  #prev = "";
  #timeMs = 0;
  #timeText = "";
  /** Definitions are listed once and called often. */
  readonly #definitions = new WeakMap<object, string>();

  constructor({ mac, replica, includeArguments }: ChainOptions) {
    this.#mac = mac;
    this.#includeArguments = includeArguments;
    this.#id = `${short(replica)}-${randomBytes(6).toString("hex")}`;
  }

  /** The first line. @param after the hash of the last line that the file has already */
  start(after: string | undefined): ChainLine {
    return this.#sign({ ...this.#head("start"), after, prev: "" });
  }

  lost(count: number): ChainLine {
    return this.#sign({ ...this.#head("lost"), count, prev: this.#prev });
  }

  end(): ChainLine {
    return this.#sign({ ...this.#head("end"), prev: this.#prev });
  }

  request({
    principal,
    method,
    server,
    tool,
    definition,
    args,
    outcome,
    code,
    durationMs,
  }: AuditEntry): ChainLine {
    const definitionHash = definition && this.#hashOf(definition);
    const argumentHash = args && this.#mac(ARGUMENTS_PURPOSE, argumentText(args));
    // Everything that can throw is done: a number that is used must appear in the log.
    return this.#sign({
      chain: this.#id,
      seq: this.#seq,
      time: this.#time(),
      event: "request",
      principal: short(principal),
      method: short(method),
      server: short(server),
      tool: short(tool),
      definitionHash,
      argumentHash,
      args: this.#includeArguments ? args : undefined,
      outcome,
      code: typeof code === "string" ? short(code) : code,
      durationMs: Math.round(durationMs * 1_000) / 1_000,
      prev: this.#prev,
    });
  }

  #head(event: AuditEvent["event"]) {
    return { chain: this.#id, seq: this.#seq, time: this.#time(), event };
  }

  /** `JSON.stringify` leaves undefined fields out. */
  #sign(unsigned: Unsigned): ChainLine {
    const text = JSON.stringify(unsigned);
    const mac = this.#mac(LINE_PURPOSE, text);
    this.#prev = mac;
    this.#seq++;
    return { unsigned, mac, text: `${text.slice(0, -1)},"mac":"${mac}"}\n` };
  }

  /** Made once per millisecond. */
  #time(): string {
    const now = Date.now();
    if (now !== this.#timeMs) {
      this.#timeMs = now;
      this.#timeText = new Date(now).toISOString();
    }
    return this.#timeText;
  }

  #hashOf(definition: Readonly<Record<string, unknown>>): string {
    const known = this.#definitions.get(definition);
    if (known !== undefined) return known;
    const hash = createHash("sha256").update(definitionText(definition)).digest("hex");
    this.#definitions.set(definition, hash);
    return hash;
  }
}

/** The line as an object. */
export const eventOf = ({ unsigned, mac }: ChainLine): AuditEvent => ({ ...unsigned, mac }) as AuditEvent;

/** Canonical JSON. Most arguments are flat, which is faster to write. */
function argumentText(args: Readonly<Record<string, unknown>>): string {
  let text = "{";
  for (const key of Object.keys(args).sort()) {
    const value = args[key];
    if (typeof value !== "string" && typeof value !== "boolean" && !Number.isFinite(value))
      return canonicalJson(args);
    text += `${text === "{" ? "" : ","}${JSON.stringify(key)}:${JSON.stringify(value)}`;
  }
  return `${text}}`;
}

function short<Text extends string | undefined>(text: Text): Text {
  return (text !== undefined && text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text) as Text;
}
