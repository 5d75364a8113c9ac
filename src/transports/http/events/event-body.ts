/** An event stream for the SDK's parser, with a limit on the size of one event. */

import type { AnswerBody } from "../network/wire-client.js";
import { readSharedEvents, type SharedEventsHooks } from "./shared-events.js";

export interface EventBodyHooks extends Omit<SharedEventsHooks, "onEvent"> {
  /** Sees whole events on their way. */
  readonly onBytes: (bytes: Uint8Array) => void;
}

/** When `onEnd` is called, bytes may still wait to be read. */
export function eventBody(body: AnswerBody, hooks: EventBodyHooks): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start(controller) {
      readSharedEvents(body, {
        ...hooks,
        onEvent: (bytes) => {
          hooks.onBytes(bytes);
          controller.enqueue(bytes);
          return (controller.desiredSize ?? 0) > 0;
        },
        // A broken stream is closed, not failed: an error would throw away events that are not read yet, and the SDK
        // does the same after both.
        onEnd: (error) => {
          hooks.onEnd(error);
          controller.close();
        },
      });
    },
    pull: () => body.resume(),
    cancel: () => body.cancel(),
  });
}
