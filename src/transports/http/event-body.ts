/** Event streams for the SDK's parser, with a limit on the size of one event. */
import type { ConnectionError } from "../../errors/connection-error.js";
import type { ServerTransport } from "../server-transport.js";
import { findMessageId } from "../stdio/find-message-id.js";
import { tooLarge } from "./answer-error.js";
import { EventFrames, type EventFramesOptions, type OversizedEvent } from "./event-frames.js";
import type { AnswerBody } from "./wire.js";

export type Discard = NonNullable<ServerTransport["ondiscard"]>;

interface EventBodyHooks {
  readonly maxBytes: number;
  /** The stream is over, with the reason if it broke. Bytes may still wait to be read. */
  readonly onEnd: (error?: unknown) => void;
}

export interface OwnEventsHooks extends EventBodyHooks {
  /** The answer is over the limit; nothing more is read. */
  readonly onOversized: (error: ConnectionError) => void;
}

/** The stream that answers one request: an event over the limit ends it. */
export function ownEvents(body: AnswerBody, hooks: OwnEventsHooks): ReadableStream<Uint8Array> {
  return eventStream(body, hooks, (stop) => ({
    onOversized: () => {
      hooks.onOversized(tooLarge(hooks.maxBytes));
      stop();
      return "stop";
    },
  }));
}

export interface SharedEventsHooks extends EventBodyHooks {
  readonly onDiscard: Discard;
  /** Sees the bytes of whole events on their way. */
  readonly onBytes?: (bytes: Uint8Array) => void;
}

/** A stream that carries messages for everybody: an event over the limit is thrown away and the stream goes on. */
export function sharedEvents(body: AnswerBody, hooks: SharedEventsHooks): ReadableStream<Uint8Array> {
  const error = () => tooLarge(hooks.maxBytes);
  return eventStream(body, hooks, (stop) => ({
    onOversized: () => "skip",
    onSkipped: (event) => hooks.onDiscard({ id: idOf(event), error: error() }),
    onEndless: () => {
      hooks.onDiscard({ error: error() });
      stop(error());
    },
  }));
}

type Rules = Pick<EventFramesOptions, "onOversized" | "onSkipped" | "onEndless">;

function eventStream(
  body: AnswerBody,
  hooks: EventBodyHooks & Pick<SharedEventsHooks, "onBytes">,
  rules: (stop: (error?: unknown) => void) => Rules,
): ReadableStream<Uint8Array> {
  let open = true;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      // A broken stream is closed, not failed: an error would throw away events that are not read yet, and the SDK
      // resumes or gives up in the same way after both.
      const finish = (error?: unknown) => {
        if (!open) return;
        open = false;
        hooks.onEnd(error);
        controller.close();
      };
      const stop = (error?: unknown) => {
        body.cancel();
        finish(error);
      };
      const frames = new EventFrames({
        maxBytes: hooks.maxBytes,
        onBytes: (bytes) => {
          hooks.onBytes?.(bytes);
          controller.enqueue(bytes);
        },
        ...rules(stop),
      });
      body.pipe({
        chunk(bytes) {
          frames.push(bytes);
          return open && (controller.desiredSize ?? 0) > 0;
        },
        end() {
          frames.end();
          finish();
        },
        fail: finish,
      });
    },
    pull: () => body.resume(),
    cancel() {
      open = false;
      body.cancel();
    },
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
