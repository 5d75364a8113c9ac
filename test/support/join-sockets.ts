/** Joins two sockets, as a proxy does. */
import type { Socket } from "node:net";

/** Pipes two sockets into each other; when one ends or fails, the other is closed. */
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
