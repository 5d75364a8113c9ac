/** Joins two sockets, as a proxy does. */
import type { Socket } from "node:net";

/** What one receives, the other sends; when one ends or fails, so does the other. */
export function joinSockets(left: Socket, right: Socket): void {
  for (const [one, other] of [
    [left, right],
    [right, left],
  ] as const) {
    one.on("error", () => other.destroy());
    one.on("close", () => other.destroy());
    one.pipe(other);
  }
}
