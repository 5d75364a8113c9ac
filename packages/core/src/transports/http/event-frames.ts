/** Splits a server-sent event stream into whole events without decoding it, and parses them. Buffers one event at most, and skips large ones. */
import { ChunkList } from "@toolport/base";
import { tooLarge } from "@toolport/http";
import type { ResponseBody } from "@toolport/http/wire-client";
import { findMessageId, OversizeSample } from "../find-message-id.js";
import type { ServerTransport } from "../server-transport.js";

const LF = 10;
const CR = 13;

/** The beginning and the end of an event over the size limit. */
export type OversizedEvent = Pick<OversizeSample, "head" | "tail">;

interface EventFramesOptions {
  /** Maximum size of one event, in bytes. */
  readonly maxBytes: number;
  /** Called with one whole event, including its empty line. The bytes are not copied if they are in one chunk. */
  onEvent(bytes: Uint8Array): void;
  /** The current event exceeds `maxBytes`. Return "stop" to ignore the rest of the stream. */
  onOversized(): "stop" | "skip";
  /** A skipped event has ended. */
  onSkipped?(event: OversizedEvent): void;
  /** A skipped event exceeds {@link ENDLESS_FACTOR} times the limit; the rest of the stream is ignored. */
  onEndless?(): void;
}

/** An event this many times larger than the limit means that the stream is broken. */
const ENDLESS_FACTOR = 8;

/**
 * An event ends with an empty line; lines end with LF, CR LF or CR. Every byte is searched once, with native `indexOf`,
 * whatever the size of the chunks.
 */
export class EventFrames {
  readonly #options: EventFramesOptions;
  readonly #held = new ChunkList();
  /** Bytes of the current event. */
  #size = 0;
  #mode: "pass" | "skip" | "stopped" = "pass";
  /** The current line has no character yet. */
  #lineEmpty = true;
  #afterCr = false;
  #sample = new OversizeSample();

  constructor(options: EventFramesOptions) {
    this.#options = options;
  }

  get #stopped(): boolean {
    return this.#mode === "stopped";
  }

  push(chunk: Uint8Array): void {
    if (this.#stopped) return;
    let start = 0;
    for (const end of this.#eventEnds(chunk)) {
      this.#piece(start === 0 && end === chunk.byteLength ? chunk : chunk.subarray(start, end), true);
      if (this.#stopped) return;
      start = end;
    }
    if (start < chunk.byteLength) this.#piece(start === 0 ? chunk : chunk.subarray(start), false);
  }

  /** The stream has ended: an event without its empty line is ignored. */
  end(): void {
    if (this.#mode === "skip") this.#options.onSkipped?.(this.#sample);
    this.#mode = "stopped";
  }

  /** Offsets after each event in this chunk. */
  *#eventEnds(chunk: Uint8Array): Generator<number> {
    let at = 0;
    let lf = chunk.indexOf(LF);
    let cr = chunk.indexOf(CR);
    if (this.#afterCr && chunk.byteLength > 0) {
      this.#afterCr = false;
      // The LF of a CR LF that was split between two chunks; the CR has already ended its line.
      if (chunk[0] === LF) {
        at = 1;
        lf = chunk.indexOf(LF, 1);
      }
    }
    while (at < chunk.byteLength) {
      const eol = lf === -1 ? cr : cr === -1 ? lf : Math.min(lf, cr);
      if (eol === -1) {
        this.#lineEmpty = false;
        return;
      }
      const empty = this.#lineEmpty && eol === at;
      this.#lineEmpty = true;
      at = eol + 1;
      if (eol === cr) {
        if (at === chunk.byteLength) this.#afterCr = true;
        else if (chunk[at] === LF) at++;
      }
      if (lf !== -1 && lf < at) lf = chunk.indexOf(LF, at);
      if (cr !== -1 && cr < at) cr = chunk.indexOf(CR, at);
      if (empty) yield at;
    }
  }

  #piece(bytes: Uint8Array, last: boolean): void {
    this.#size += bytes.byteLength;
    if (this.#mode === "pass" && this.#size > this.#options.maxBytes) {
      this.#mode = this.#options.onOversized() === "skip" ? "skip" : "stopped";
      for (const held of this.#held.takePieces()) this.#sample.add(held);
      if (this.#mode === "stopped") return;
    }
    if (this.#mode === "pass") {
      const inOnePiece = last && this.#held.byteLength === 0;
      if (!inOnePiece) this.#held.push(bytes);
      if (last) this.#options.onEvent(inOnePiece ? bytes : this.#held.takeBlock(this.#size));
    } else {
      this.#sample.add(bytes);
      if (last) this.#skipped();
      else if (this.#size > this.#options.maxBytes * ENDLESS_FACTOR) {
        this.#mode = "stopped";
        this.#options.onEndless?.();
      }
    }
    if (last) this.#size = 0;
  }

  #skipped(): void {
    const event = this.#sample;
    this.#sample = new OversizeSample();
    this.#mode = "pass";
    this.#options.onSkipped?.(event);
  }
}

export type Discard = NonNullable<ServerTransport["ondiscard"]>;

interface SharedEventsHooks {
  readonly maxBytes: number;
  /** Called with one whole event. */
  readonly onEvent: (bytes: Uint8Array) => void;
  readonly onDiscard: Discard;
  /** The stream has ended, with the error if it broke. */
  readonly onEnd: (error?: unknown) => void;
}

/** Reads the stream to its end. */
export function readSharedEvents(body: ResponseBody, hooks: SharedEventsHooks): void {
  const error = () => tooLarge(hooks.maxBytes);
  let open = true;
  const finish = (cause?: unknown) => {
    if (!open) return;
    open = false;
    hooks.onEnd(cause);
  };
  const frames = new EventFrames({
    maxBytes: hooks.maxBytes,
    onEvent: hooks.onEvent,
    onOversized: () => "skip",
    onSkipped: (event) => hooks.onDiscard({ id: idOf(event), error: error() }),
    onEndless: () => {
      hooks.onDiscard({ error: error() });
      body.cancel();
      finish(error());
    },
  });
  body.pipe({
    chunk(bytes) {
      frames.push(bytes);
      return open;
    },
    end() {
      frames.end();
      finish();
    },
    fail: finish,
  });
}

const decoder = new TextDecoder();

/** JSON strings contain no raw line break, so `data:` at the start of a line is a field name and not part of the message. */
const withoutFieldNames = (bytes: Uint8Array): string => {
  const lines = decoder.decode(bytes).split(/\r\n|\n|\r/);
  return lines
    .filter((line) => !/^(event|id|retry)?:/.test(line))
    .map((line) => (line.startsWith("data:") ? line.slice(5) : line))
    .join("\n");
};

const idOf = ({ head, tail }: OversizedEvent) =>
  findMessageId(withoutFieldNames(head), withoutFieldNames(tail));

export interface ServerEvent {
  /** Empty or `message` for messages. */
  readonly type: string;
  /** Undefined if the event has no `data` field. */
  readonly data: string | undefined;
  readonly id: string | undefined;
  readonly retryMs: number | undefined;
}

/** @param bytes one event, with its empty line */
export function parseEvent(bytes: Uint8Array): ServerEvent {
  let text = decoder.decode(bytes);
  if (text.includes("\r")) text = text.replace(/\r\n?/g, "\n");
  let type = "";
  let data: string | undefined;
  let id: string | undefined;
  let retryMs: number | undefined;
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf("\n", start);
    const end = newline === -1 ? text.length : newline;
    const colon = text.indexOf(":", start);
    const nameEnd = colon === -1 || colon > end ? end : colon;
    // One space after the colon is not part of the value.
    const valueStart = nameEnd + (text[nameEnd + 1] === " " ? 2 : 1);
    const value = valueStart < end ? text.slice(valueStart, end) : "";
    switch (text.slice(start, nameEnd)) {
      case "data":
        data = data === undefined ? value : `${data}\n${value}`;
        break;
      case "event":
        type = value;
        break;
      case "id":
        if (!value.includes("\0")) id = value;
        break;
      case "retry":
        if (/^\d+$/.test(value)) retryMs = Number(value);
        break;
    }
    start = end + 1;
  }
  return { type, data, id, retryMs };
}
