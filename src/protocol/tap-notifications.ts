/** Hears what a server tells by itself, on the way of every message to the SDK's client. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";

type Tap = (direction: "sent" | "received", message: JSONRPCMessage) => void;

/** A tap that tells every notification received, but for progress, which belongs to its request; then the next tap. */
export function tapNotifications(
  tell: (method: string, params: Readonly<Record<string, unknown>>) => void,
  next?: Tap,
): Tap {
  return (direction, message) => {
    next?.(direction, message);
    if (direction !== "received" || !("method" in message) || "id" in message) return;
    const { method, params } = message as { method: string; params?: Record<string, unknown> };
    if (method !== "notifications/progress") tell(method, params ?? {});
  };
}
