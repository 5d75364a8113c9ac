/** A progress line at the bottom of the terminal. */
import type { Writable } from "node:stream";
import { oneLine } from "./plain-text.js";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 80;
const ERASE_LINE = "\r\u001b[2K";

export interface Spinner {
  start(text: string): { update(text: string): void; done(): void };
  /** Erases the line before other output; the next frame draws it again. */
  clear(): void;
  /** Hides the line until `resume`, while the user answers a question. */
  pause(): void;
  resume(): void;
}

/** Draws nothing. */
export const noSpinner: Spinner = {
  start: () => ({ update() {}, done() {} }),
  clear() {},
  pause() {},
  resume() {},
};

export function createSpinner(stream: Writable & { columns?: number }): Spinner {
  /** The last entry is shown. */
  const running: { text: string }[] = [];
  let timer: NodeJS.Timeout | undefined;
  let frame = 0;
  let isDrawn = false;
  let isPaused = false;

  const clear = () => {
    if (isDrawn) stream.write(ERASE_LINE);
    isDrawn = false;
  };
  const draw = () => {
    const shown = running.at(-1);
    if (shown === undefined || isPaused) return;
    frame = (frame + 1) % FRAMES.length;
    const line = oneLine(shown.text, Math.max(10, (stream.columns || 80) - 3));
    stream.write(`${ERASE_LINE}${FRAMES[frame]} ${line}`);
    isDrawn = true;
  };
  return {
    start(text) {
      const entry = { text };
      running.push(entry);
      timer ??= setInterval(draw, FRAME_MS).unref();
      draw();
      return {
        update(next) {
          entry.text = next;
        },
        done() {
          const index = running.indexOf(entry);
          if (index >= 0) running.splice(index, 1);
          clear();
          if (running.length > 0) return;
          clearInterval(timer);
          timer = undefined;
        },
      };
    },
    clear,
    pause() {
      isPaused = true;
      clear();
    },
    resume() {
      isPaused = false;
    },
  };
}
