/** Passes progress on to those who want it: the call's own callback, the server's, and the port's. */
import type { ServerConfig } from "../config/server-config.js";
import type { Progress } from "../protocol/pending-request.js";
import { type DropObserver, OrderedCallback } from "../util/ordered-callback.js";
import type { ToolCall } from "./tool-call.js";

export interface ProgressParts {
  /** The port's own callback, bounded already. */
  onProgress: ((server: { readonly name: string }, progress: Progress) => void) | undefined;
  /** Gets what a callback throws. */
  report: (error: unknown) => void;
  /** Is notified of progress that a slow callback misses. */
  dropsOf: (callback: string) => DropObserver;
}

export class ProgressCallbacks {
  readonly #parts: ProgressParts;
  /** One for each server, whatever the number of its calls. */
  readonly #ofServers = new WeakMap<ServerConfig, OrderedCallback<Progress>>();

  constructor(parts: ProgressParts) {
    this.#parts = parts;
  }

  /** What takes the progress of one call. */
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
    const made = this.#ordered(config.onProgress, `onProgress of ${config.name}`);
    this.#ofServers.set(config, made);
    return made;
  }

  #ordered(callback: (progress: Progress) => unknown, name: string): OrderedCallback<Progress> {
    const { report, dropsOf } = this.#parts;
    return new OrderedCallback(callback, { report, ...dropsOf(name) });
  }
}
