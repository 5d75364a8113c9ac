/** Passes progress on to the callbacks of the call, of the server and of the port. */

import { type DropObserver, OrderedCallback } from "@toolport/base";
import type { ServerConfig } from "../config/server-config.js";
import type { Progress } from "../protocol/pending-request.js";
import type { ToolCall } from "./tool-call.js";

export interface CallProgressParts {
  /** The callback of the port; its queue is already bounded. */
  onProgress: ((server: { readonly name: string }, progress: Progress) => void) | undefined;
  /** Receives errors of callbacks. */
  report: (error: unknown) => void;
  /** Counts the progress reports that a slow callback misses. */
  dropsOf: (callback: string) => DropObserver;
}

export class CallProgress {
  readonly #parts: CallProgressParts;
  /** One for each server, shared by all of its calls. */
  readonly #ofServers = new WeakMap<ServerConfig, OrderedCallback<Progress>>();

  constructor(parts: CallProgressParts) {
    this.#parts = parts;
  }

  /** The function that receives the progress of one call. */
  of({ options, tool }: ToolCall, config: ServerConfig): (progress: Progress) => void {
    const ofCall = options.onProgress && this.#ordered(options.onProgress, "onProgress of a call");
    const ofServer = this.#ofServer(config);
    return (progress) => {
      ofCall?.call(progress);
      ofServer?.call(progress);
      this.#parts.onProgress?.({ name: tool.server }, progress);
    };
  }

  #ofServer(config: ServerConfig): OrderedCallback<Progress> | undefined {
    if (config.onProgress === undefined) return undefined;
    const known = this.#ofServers.get(config);
    if (known !== undefined) return known;
    const created = this.#ordered(config.onProgress, `onProgress of ${config.name}`);
    this.#ofServers.set(config, created);
    return created;
  }

  #ordered(callback: (progress: Progress) => unknown, name: string): OrderedCallback<Progress> {
    const { report, dropsOf } = this.#parts;
    return new OrderedCallback(callback, { report, ...dropsOf(name) });
  }
}

/** Progress of a task: the reports of the server, and its status messages. */
export interface TaskProgress {
  reported(progress: Progress): void;
  /** Reports a status message, unless it is the same as before. */
  statusChanged(message: string | undefined): void;
}

export function createTaskProgress(report: (progress: Progress) => void): TaskProgress {
  let last: Progress | undefined;
  let lastMessage: string | undefined;
  let count = 0;
  return {
    reported(progress) {
      last = progress;
      report(progress);
    },
    statusChanged(message) {
      if (message === undefined || message === lastMessage) return;
      lastMessage = message;
      count += 1;
      // `progress` must increase: without figures of the server it counts the status messages. The total is unknown.
      report({ ...(last ?? { progress: count }), message });
    },
  };
}
