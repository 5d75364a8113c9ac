/** Reads an event stream that carries messages for all requests: an event over the size limit is skipped. */

import { findMessageId } from "../../find-message-id.js";
import type { ServerTransport } from "../../server-transport.js";
import { tooLarge } from "../network/http-errors.js";
import type { ResponseBody } from "../network/wire-client.js";
import { EventFrames, type OversizedEvent } from "./event-frames.js";

export type Discard = NonNullable<ServerTransport["ondiscard"]>;

export interface SharedEventsHooks {
  readonly maxBytes: number;
  /** Called with one whole event. Returns false to pause the stream. */
  readonly onEvent: (bytes: Uint8Array) => boolean;
  readonly onDiscard: Discard;
  /** The stream has ended, with the error if it broke. */
  readonly onEnd: (error?: unknown) => void;
}

/** Reads the stream to its end. */
export function readSharedEvents(body: ResponseBody, hooks: SharedEventsHooks): void {
  const error = () => tooLarge(hooks.maxBytes);
  let open = true;
  let hasCapacity = true;
  const finish = (cause?: unknown) => {
    if (!open) return;
    open = false;
    hooks.onEnd(cause);
  };
  const frames = new EventFrames({
    maxBytes: hooks.maxBytes,
    onEvent: (bytes) => {
      hasCapacity = hooks.onEvent(bytes);
    },
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
      hasCapacity = true;
      frames.push(bytes);
      return open && hasCapacity;
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
