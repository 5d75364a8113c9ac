/** How a room above sees every message of a server's connections: a function put on the server's entry. */

/** Sees one message as it passes. It must not change it. */
export type MessageTap = (direction: "sent" | "received", message: unknown) => unknown;

/** Asked at every attempt to connect, so that what it returns knows which connection it listens to. */
export type ConnectionTap = () => MessageTap;

/** A symbol, because it is no option of users: it is never written to a file, nor saved with an entry. */
export const CONNECTION_TAP: unique symbol = Symbol.for("toolport.connection-tap");
