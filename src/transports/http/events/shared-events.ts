/** A stream that carries events for everybody: one over the limit is thrown away, and the stream goes on. */

import { findMessageId } from "../../find-message-id.js";
import type { ServerTransport } from "../../server-transport.js";
import { tooLarge } from "../network/http-errors.js";
import type { ResponseBody } from "../network/wire-client.js";
import { EventFrames, type OversizedEvent } from "./event-frames.js";

export type Discard = NonNullable<ServerTransport["ondiscard"]>;

export interface SharedEventsHooks {
  readonly maxBytes: number;
  /** One whole event. Returns false when no more can be taken at the moment. */
  readonly onEvent: (bytes: Uint8Array) => boolean;
  readonly onDiscard: Discard;
  /** The stream is over, with the reason if it broke. */
  readonly onEnd: (error?: unknown) => void;
}

/** Reads such a stream to its end. */
export function readSharedEvents(body: ResponseBody, hooks: SharedEventsHooks): void {
  const error = () => tooLarge(hooks.maxBytes);
  let open = true;
  let room = true;
  const finish = (cause?: unknown) => {
    if (!open) return;
    open = false;
    hooks.onEnd(cause);
  };
  const frames = new EventFrames({
    maxBytes: hooks.maxBytes,
    onEvent: (bytes) => {
      room = hooks.onEvent(bytes);
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
      room = true;
      frames.push(bytes);
      return open && room;
    },
    end() {
      frames.end();
      finish();
    },
    fail: finish,
  });
}

const decoder = new TextDecoder();

/** A raw line break never stands within a JSON string, so `data:` at the start of a line is the stream's, not the message's. */
const withoutFieldNames = (bytes: Uint8Array): string => {
  const lines = decoder.decode(bytes).split(/\r\n|\n|\r/);
  return lines
    .filter((line) => !/^(event|id|retry)?:/.test(line))
    .map((line) => (line.startsWith("data:") ? line.slice(5) : line))
    .join("\n");
};

const idOf = ({ head, tail }: OversizedEvent) =>
  findMessageId(withoutFieldNames(head), withoutFieldNames(tail));
