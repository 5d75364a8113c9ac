/** Progress of a task: what its server reports, and the words with which it says how the task stands. */
import type { Progress } from "../../protocol/pending-request.js";

export interface TaskProgress {
  /** The server reported progress. */
  reported(progress: Progress): void;
  /** The server said how the task stands. */
  said(message: string | undefined): void;
}

export function createTaskProgress(tell: (progress: Progress) => void): TaskProgress {
  let last: Progress | undefined;
  let heard: string | undefined;
  let count = 0;
  return {
    reported(progress) {
      last = progress;
      tell(progress);
    },
    said(message) {
      if (message === undefined || message === heard) return;
      heard = message;
      count += 1;
      // Without figures of the server's, it is the count of its messages: it must grow, and nothing is known of a total.
      tell({ ...(last ?? { progress: count }), message });
    },
  };
}
