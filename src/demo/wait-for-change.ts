/** Waits until Toolport has noticed that something happened to a server. */
import type { StateChange, Toolport } from "../index.js";

const TIMEOUT_MS = 5_000;

/** Resolves with the first change of the server's state that fits. Start waiting before you break something. */
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
      () => done(() => reject(new Error(`what happened to ${server} was not noticed`))),
      TIMEOUT_MS,
    );
  });
}

/** Resolves when Toolport has noticed that the connection is gone. */
export const whenLost = (toolport: Toolport, server: string): Promise<void> =>
  waitForChange(toolport, server, ({ from }) => from === "ready");
