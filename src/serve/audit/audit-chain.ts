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

/** Longer texts are cut. */
const MAX_TEXT = 512;

/** Longer arguments are cut, so that a client does not decide how long a line is. */
const MAX_ARGUMENTS = 4_096;

/** Texts that are repeated in many lines and kept as JSON. */
const MAX_QUOTED = 1_000;

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
  /** The first field of every line. */
  readonly #chain: string;
  #seq = 0;
  #prev = "";
  #secondMs = -1;
  #secondText = "";
  /** Definitions are listed once and called often. */
  readonly #definitions = new WeakMap<object, string>();
  readonly #quoted = new Map<string, string>();

  constructor({ mac, replica, includeArguments }: ChainOptions) {
    this.#mac = mac;
    this.#includeArguments = includeArguments;
    const id = `${short(replica)}-${randomBytes(6).toString("hex")}`;
    this.#chain = `"chain":${JSON.stringify(id)}`;
  }

  /** The first line. @param after the hash of the last line that the file has already */
  start(after: string | undefined): string {
    return this.#sign(`${this.#head("start")}${this.#field("after", after)}`);
  }

  lost(count: number): string {
    return this.#sign(`${this.#head("lost")},"count":${count}`);
  }

  end(): string {
    return this.#sign(this.#head("end"));
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
  }: AuditEntry): string {
    // Written by hand: `JSON.stringify` of the whole line takes longer than its hash.
    let line = this.#head("request");
    line += this.#field("principal", principal);
    line += this.#field("method", method);
    line += this.#field("server", server);
    line += this.#field("tool", tool);
    if (definition !== undefined) line += `,"definitionHash":"${this.#hashOf(definition)}"`;
    if (args !== undefined) {
      const json = jsonOf(args);
      // Large arguments are hashed once, as the client wrote them: to sort their members takes ten times as long.
      const sha256 =
        json.length > MAX_ARGUMENTS ? createHash("sha256").update(json).digest("hex") : undefined;
      line += `,"argumentHash":"${this.#mac(ARGUMENTS_PURPOSE, sha256 ?? argumentText(args))}"`;
      if (this.#includeArguments)
        line += sha256 === undefined ? `,"args":${json}` : `,"cutArgs":${cut(json, sha256)}`;
    }
    line += `,"outcome":"${outcome}"`;
    line += typeof code === "number" ? `,"code":${JSON.stringify(code)}` : this.#field("code", code);
    line += `,"durationMs":${Math.round(durationMs * 1_000) / 1_000}`;
    return this.#sign(line);
  }

  #head(event: AuditEvent["event"]): string {
    return `{${this.#chain},"seq":${this.#seq},"time":"${this.#time()}","event":"${event}"`;
  }

  /** Nothing for an undefined text. Clients choose some of them, so they are cut. */
  #field(name: string, text: string | undefined): string {
    if (text === undefined) return "";
    let quoted = this.#quoted.get(text);
    if (quoted === undefined) {
      quoted = JSON.stringify(short(text));
      if (this.#quoted.size >= MAX_QUOTED) this.#quoted.clear();
      if (text.length <= MAX_TEXT) this.#quoted.set(text, quoted);
    }
    return `,"${name}":${quoted}`;
  }

  /**
   * Ends a line, with its line break. Everything that can throw comes before: a number that is used must appear in the log.
   *
   * @param begun the line without its last fields
   */
  #sign(begun: string): string {
    const line = `${begun},"prev":"${this.#prev}"}`;
    const mac = this.#mac(LINE_PURPOSE, line);
    this.#prev = mac;
    this.#seq++;
    // A part of the text that was hashed: V8 does not put its pieces together a second time.
    return `${line.slice(0, -1)},"mac":"${mac}"}\n`;
  }

  /** The part up to the seconds is made once per second. */
  #time(): string {
    const now = Date.now();
    const ms = now % 1_000;
    if (now - ms !== this.#secondMs) {
      this.#secondMs = now - ms;
      this.#secondText = new Date(now).toISOString().slice(0, -"000Z".length);
    }
    return `${this.#secondText}${ms < 10 ? "00" : ms < 100 ? "0" : ""}${ms}Z`;
  }

  #hashOf(definition: Readonly<Record<string, unknown>>): string {
    const known = this.#definitions.get(definition);
    if (known !== undefined) return known;
    const hash = createHash("sha256").update(definitionText(definition)).digest("hex");
    this.#definitions.set(definition, hash);
    return hash;
  }
}

function jsonOf(args: Readonly<Record<string, unknown>>): string {
  try {
    return JSON.stringify(args);
  } catch {
    // `JSON.stringify` is recursive: arguments may be too deep for it.
    return canonicalJson(args);
  }
}

const cut = (json: string, sha256: string): string =>
  JSON.stringify({ start: json.slice(0, MAX_ARGUMENTS), length: json.length, sha256 });

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

const short = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);
