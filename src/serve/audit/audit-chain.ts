/** Turns requests into the lines of a chain: each line contains the hash of the one before it. */
import { hash, randomBytes } from "node:crypto";
import { canonicalJson, definitionText } from "../../catalog/safety/canonical-json.js";
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

export interface ChainOptions {
  readonly mac: AuditMac;
  /** Named in the id of the chain. */
  readonly replica: string;
  /** Write the arguments, not only their hash. */
  readonly includeArguments: boolean;
}

type LineFields = { readonly [Key in keyof AuditEvent]?: AuditEvent[Key] | undefined };

export class AuditChain {
  readonly #mac: AuditMac;
  readonly #includeArguments: boolean;
  readonly #id: string;
  #seq = 0;
  #prev = "";
  /** Definitions are listed once and called often: a hash for each call moves "echo call → stdio". */
  readonly #definitions = new WeakMap<object, string>();

  constructor({ mac, replica, includeArguments }: ChainOptions) {
    this.#mac = mac;
    this.#includeArguments = includeArguments;
    this.#id = `${short(replica)}-${randomBytes(6).toString("hex")}`;
  }

  /** The first line. @param after the hash of the last line that the file has already */
  start(after: string | undefined): string {
    return this.#line("start", { after });
  }

  lost(count: number): string {
    return this.#line("lost", { count });
  }

  end(): string {
    return this.#line("end", {});
  }

  /** Clients choose some of the texts, so they are cut. */
  request(entry: AuditEntry): string {
    const { principal, method, server, tool, definition, args, outcome, code, durationMs } = entry;
    return this.#line("request", {
      principal: short(principal),
      method: short(method),
      server: short(server),
      tool: short(tool),
      definitionHash: definition && this.#hashOf(definition),
      ...(args && this.#argumentFields(args)),
      outcome,
      code: typeof code === "number" ? code : short(code),
      durationMs: Math.round(durationMs * 1_000) / 1_000,
    });
  }

  #argumentFields(args: Readonly<Record<string, unknown>>): LineFields {
    const json = jsonOf(args);
    if (json.length <= MAX_ARGUMENTS) {
      const argumentHash = this.#mac(ARGUMENTS_PURPOSE, canonicalJson(args));
      return this.#includeArguments ? { argumentHash, args } : { argumentHash };
    }
    // Large arguments are hashed once, as the client wrote them: to sort their members takes ten times as long.
    const sha256 = hash("sha256", json, "hex");
    const argumentHash = this.#mac(ARGUMENTS_PURPOSE, sha256);
    const cutArgs = { start: json.slice(0, MAX_ARGUMENTS), length: json.length, sha256 };
    return this.#includeArguments ? { argumentHash, cutArgs } : { argumentHash };
  }

  /**
   * A line of the log, with its line break. Everything that can throw comes before the number is used: a number that is used must
   * appear in the log.
   */
  #line(event: AuditEvent["event"], fields: LineFields): string {
    const time = new Date().toISOString();
    const line = JSON.stringify({
      chain: this.#id,
      seq: this.#seq,
      time,
      event,
      ...fields,
      prev: this.#prev,
    });
    this.#prev = this.#mac(LINE_PURPOSE, line);
    this.#seq++;
    return `${line.slice(0, -1)},"mac":"${this.#prev}"}\n`;
  }

  #hashOf(definition: Readonly<Record<string, unknown>>): string {
    const known = this.#definitions.get(definition);
    if (known !== undefined) return known;
    const definitionHash = hash("sha256", definitionText(definition), "hex");
    this.#definitions.set(definition, definitionHash);
    return definitionHash;
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

const short = (text: string | undefined): string | undefined =>
  text !== undefined && text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
