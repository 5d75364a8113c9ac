/** Checks the lines of an audit log, and names the first that was changed, removed or moved. */
import { BoundedMap, isRecord, parseJson } from "@toolport/base";
import { type AuditEvent, type AuditMac, LINE_PURPOSE } from "./open-audit.js";

/** What is wrong with a log. */
export interface AuditProblem {
  /** `unknown-key`: the line was written with a key that this store does not have. */
  readonly kind: "changed" | "missing" | "reordered" | "unknown-key";
  /** The line, counted from 1 over all files. For `missing`: the line after the gap. */
  readonly line: number;
  readonly message: string;
}

/** The outcome of a check. */
export interface AuditReport {
  /** Undefined if the log is complete. */
  readonly problem?: AuditProblem;
  /** Complete lines that were checked. */
  readonly lines: number;
  readonly chains: number;
  /** Chains without an end: the process runs, or it was killed. */
  readonly openChains: number;
  /** Lines that were cut off when a process was killed. */
  readonly cutLines: number;
  /** Requests that could not be written, by the count in the log. */
  readonly lostRequests: number;
  /** `mac` of the last line: keep it elsewhere to notice later that lines were removed from the end. */
  readonly lastMac?: string;
}

/** `,"mac":"…"}` at the end of a line. */
const SIGNATURE = /^(.*),"mac":"([0-9a-f]{8}\.[A-Za-z0-9_-]{43})"\}$/s;
/** A line is compared with hashes of so many lines before it. Replicas that share a file write between each other. */
const REMEMBERED = 10_000;

/**
 * Checks a log.
 *
 * @param chunks the text of the log, in pieces of any size
 * @param mac `Seal.mac` with the keys of the gateway that wrote the log
 */
export async function verifyAudit(
  chunks: AsyncIterable<string> | Iterable<string>,
  mac: AuditMac,
): Promise<AuditReport> {
  const check = new AuditCheck(mac);
  let rest = "";
  for await (const chunk of chunks) {
    const lines = chunk.split("\n");
    lines[0] = rest + lines[0]!;
    rest = lines.pop()!;
    for (const line of lines) check.add(line);
  }
  return check.finish(rest);
}

class AuditCheck {
  readonly #chains = new Map<string, { seq: number; mac: string; isOpen: boolean }>();
  readonly #recent = new BoundedMap<string, true>(REMEMBERED);
  #number = 0;
  #lines = 0;
  #cutLines = 0;
  #lostRequests = 0;
  #lastMac: string | undefined;
  #problem: AuditProblem | undefined;
  /** Lines without a hash just before this one. They were cut off if a new chain begins after them, or the log ends in the last. */
  #suspects: number[] = [];
  /** A gap: if the line appears later, lines were moved and not removed. */
  #gap: { readonly chain: string; readonly seq: number } | undefined;
  #isGapFilled = false;

  constructor(private readonly mac: AuditMac) {}

  add(line: string): void {
    this.#number++;
    const signed = SIGNATURE.exec(line);
    const event = signed && (parseJson(line) as AuditEvent | undefined);
    if (this.#problem !== undefined) return this.#searchGap(signed, event);
    if (!signed || !isEvent(event)) return void this.#suspects.push(this.#number);
    const [, text = "", given = ""] = signed;
    const wanted = this.mac(LINE_PURPOSE, `${text}}`, given);
    if (wanted === "")
      return this.#fail("unknown-key", "was written with a key that this store does not have");
    if (wanted !== given) return this.#fail("changed", "was changed: its hash does not match");
    if (event.event !== "start" && this.#suspects.length > 0) return this.#failWithoutHash();
    this.#cutLines += this.#suspects.length;
    this.#suspects = [];
    this.#follow(event);
  }

  /** The line is whole; its place is checked. */
  #follow(event: AuditEvent): void {
    const { chain: id, seq, prev } = event;
    const chain = this.#chains.get(id);
    if (event.event === "start") {
      if (chain !== undefined) return this.#fail("reordered", "is there twice");
      if (event.after !== undefined && !this.#recent.has(event.after))
        return this.#fail("missing", "begins a chain; lines before it were removed");
      this.#chains.set(id, { seq, mac: event.mac, isOpen: true });
    } else {
      const expected = chain === undefined ? 0 : chain.seq + 1;
      if (seq < expected || (seq === expected && prev !== chain?.mac))
        return this.#fail("reordered", `is there twice, or not at its place in the chain ${id}`);
      if (seq > expected) {
        this.#gap = { chain: id, seq: expected };
        const lines = seq - expected === 1 ? "1 missing line" : `${seq - expected} missing lines`;
        return this.#fail("missing", `follows ${lines} of the chain ${id}`);
      }
      Object.assign(chain!, { seq, mac: event.mac, isOpen: event.event !== "end" });
    }
    this.#lines++;
    this.#lastMac = event.mac;
    if (event.event === "lost") this.#lostRequests += event.count ?? 0;
    this.#recent.set(event.mac, true);
  }

  #fail(kind: AuditProblem["kind"], what: string, line = this.#number): void {
    this.#problem = { kind, line, message: `Line ${line} ${what}` };
  }

  #failWithoutHash(): void {
    this.#fail("changed", "was changed: it has no hash", this.#suspects[0]);
  }

  #searchGap(signed: RegExpExecArray | null, event: AuditEvent | null | undefined): void {
    if (this.#gap === undefined || !signed || !isEvent(event)) return;
    if (event.chain === this.#gap.chain && event.seq === this.#gap.seq) this.#isGapFilled = true;
  }

  /** @param rest the text after the last line break: empty, or a line that was cut off */
  finish(rest: string): AuditReport {
    if (rest !== "") this.add(rest);
    if (this.#problem === undefined && this.#suspects.length > 0) {
      if (rest === "") this.#failWithoutHash();
      else this.#cutLines += this.#suspects.length;
    }
    if (this.#problem?.kind === "missing" && this.#isGapFilled)
      this.#fail("reordered", "is not at its place in its chain", this.#problem.line);
    return {
      ...(this.#problem && { problem: this.#problem }),
      lines: this.#lines,
      chains: this.#chains.size,
      openChains: [...this.#chains.values()].filter(({ isOpen }) => isOpen).length,
      cutLines: this.#cutLines,
      lostRequests: this.#lostRequests,
      ...(this.#lastMac !== undefined && { lastMac: this.#lastMac }),
    };
  }
}

const isEvent = (event: unknown): event is AuditEvent =>
  isRecord(event) && typeof event["chain"] === "string" && Number.isSafeInteger(event["seq"]);
