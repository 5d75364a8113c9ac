/** Server-sent events with back-pressure: a slow reader costs bounded memory, and is cut after a while. */
import { SlotList, type Slotted, timerMs, unrefTimer } from "@toolport/base";
import type { OpenStream } from "../message.js";
import type { EventSink, Headers, HttpReply } from "./http-request.js";

const EVENT_STREAM_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
} as const;

/** Comments keep proxies from closing a silent stream. */
const HEARTBEAT_MS = 15_000;
/** A client that reads nothing for this long is cut. */
export const STALLED_MS = 30_000;
const MAX_QUEUED_CHARS = 4 * 1024 * 1024;

/** Only the last progress of a request is of interest, so earlier ones are dropped while a reader is slow. */
const PROGRESS = '{"jsonrpc":"2.0","method":"notifications/progress"';
const PROGRESS_EVENT = `event: message\ndata: ${PROGRESS}`;

export class EventStream implements OpenStream, Slotted {
  slot = -1;
  readonly #sink: EventSink;
  readonly #queue: string[] = [];
  #queuedChars = 0;
  #isStalled = false;
  #stalledAt = 0;
  #isEnded = false;
  #expiry: ReturnType<typeof setTimeout> | undefined;
  readonly closed: Promise<void>;
  /** Asks the holder to finish: `closed` resolves. */
  readonly finish: () => void;
  #first: string;

  /** @param first is sent with the first event, because every write costs time, or by `flush` */
  constructor(reply: HttpReply, headers: Headers, first = "") {
    this.#sink = reply.open({ ...EVENT_STREAM_HEADERS, ...headers });
    this.#first = first;
    let settle!: () => void;
    this.closed = new Promise<void>((resolve) => {
      settle = resolve;
    });
    this.finish = settle;
    this.#sink.onDrain(() => this.#drained());
    reply.onGone(() => this.#over());
    keepAlive(this);
  }

  get isOpen(): boolean {
    return !this.#isEnded;
  }

  /** Sends the headers and what comes first, so that the client sees that the stream is open. */
  flush(): void {
    if (this.#isEnded) return;
    if (this.#first === "") this.#sink.flush();
    else this.#write("");
  }

  /** Sends one message as an event. */
  send(text: string, id?: string): void {
    if (this.#isEnded) return;
    const event = `${id === undefined ? "" : `id: ${id}\n`}event: message\ndata: ${text}\n\n`;
    if (!this.#isStalled) return this.#write(event);
    if (text.startsWith(PROGRESS)) this.#dropProgress();
    this.#queue.push(event);
    this.#queuedChars += event.length;
    if (this.#queuedChars > MAX_QUEUED_CHARS) this.cut();
  }

  /**
   * Sends a result, which is the last event. It does not count as waiting for a slow reader: `end` writes all that waits in any
   * case.
   */
  sendResult(json: string): void {
    if (this.#isEnded) return;
    this.#writeQueue();
    this.#write(`event: message\ndata: ${json}\n\n`);
  }

  /** A credential must not outlive its expiry on an open stream. */
  endWithCredential(expiresAt: number | undefined): void {
    if (expiresAt === undefined) return;
    this.#expiry = unrefTimer(setTimeout(this.finish, timerMs(expiresAt - Date.now())));
  }

  end(): void {
    if (this.#isEnded) return;
    this.#writeQueue();
    this.#sink.end();
    this.#over();
  }

  cut(): void {
    if (this.#isEnded) return;
    this.#sink.destroy();
    this.#over();
  }

  /** Called at each heartbeat. */
  keepAlive(now: number): void {
    if (!this.#isStalled) this.#write(": keep-alive\n\n");
    else if (now - this.#stalledAt > STALLED_MS) this.cut();
  }

  #write(event: string): void {
    const text = this.#first + event;
    this.#first = "";
    if (this.#sink.write(text)) return;
    this.#isStalled = true;
    this.#stalledAt = performance.now();
  }

  /** Although the reader is slow. */
  #writeQueue(): void {
    this.#queuedChars = 0;
    for (const event of this.#queue.splice(0)) this.#write(event);
  }

  #drained(): void {
    this.#isStalled = false;
    while (this.#queue.length > 0 && !this.#isStalled) {
      const event = this.#queue.shift()!;
      this.#queuedChars -= event.length;
      this.#write(event);
    }
  }

  #dropProgress(): void {
    for (let index = this.#queue.length - 1; index >= 0; index -= 1) {
      const event = this.#queue[index]!;
      if (!event.startsWith(PROGRESS_EVENT)) continue;
      this.#queue.splice(index, 1);
      this.#queuedChars -= event.length;
    }
  }

  #over(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#queue.length = 0;
    forget(this);
    clearTimeout(this.#expiry);
    this.finish();
  }
}

const openStreams = new SlotList<EventStream>();
let heartbeat: ReturnType<typeof setInterval> | undefined;

/** One timer for all streams: ten thousand timers would cost more than their streams. */
function keepAlive(stream: EventStream): void {
  openStreams.add(stream);
  heartbeat ??= unrefTimer(
    setInterval(() => {
      const now = performance.now();
      for (const each of openStreams.toArray()) each.keepAlive(now);
    }, HEARTBEAT_MS),
  );
}

function forget(stream: EventStream): void {
  openStreams.delete(stream);
  if (openStreams.size > 0) return;
  clearInterval(heartbeat);
  heartbeat = undefined;
}
