/** Waits for state changes of a server. */
import type { StateChange, Toolport } from "../index.js";

const TIMEOUT_MS = 5_000;

/** Resolves at the first matching state change. Call it before you break something. */
export function waitForChange(
  toolport: Toolport,
  server: string,
  fits: (change: StateChange) => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (settle: () => void) => {
      off();
      clearTimeout(timer);
      settle();
    };
    const off = toolport.on("state", (change) => {
      if (change.server === server && change.principal === undefined && fits(change)) done(resolve);
    });
    const timer = setTimeout(
      () => done(() => reject(new Error(`the state of ${server} did not change in time`))),
      TIMEOUT_MS,
    );
  });
}

/** Resolves when Toolport has noticed that the connection is lost. */
export const whenLost = (toolport: Toolport, server: string): Promise<void> =>
  waitForChange(toolport, server, ({ from }) => from === "ready");
