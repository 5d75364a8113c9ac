/** Messages on the wire, written down so that a person can read them and nobody can misuse them. */
import { redactText } from "../util/redact-text.js";
import { debugChannel } from "./debug-channel.js";
import type { Logger } from "./logger.js";

/** Names of fields whose values are not for logs. */
const SECRET_NAME =
  /token|secret|password|passwd|authorization|api[-_]?key|cookie|credential|private[-_]?key/i;
/** Not for logs either, but a tool may well have sessions of its own, which recordings need. */
const SESSION_NAME = /session[-_]?id/i;
const MAX_LOGGED = 2_000;

/** Whether a field of this name holds something that nobody else should read. */
export const isSecretName = (name: string): boolean => SECRET_NAME.test(name) && name !== "progressToken";

const channel = debugChannel("wire");

/** The message as text: secret-looking fields blanked, long text cut. */
export function describeMessage(message: unknown, redact: (text: string) => string = (text) => text): string {
  const text = JSON.stringify(message, (name, value: unknown) => {
    if ((isSecretName(name) || SESSION_NAME.test(name)) && value !== null) return "[redacted]";
    // Redacted before it is shortened: half a secret is still a secret.
    return typeof value === "string" ? redactText(redact(value)) : value;
  });
  const shown = redact(text);
  return shown.length > MAX_LOGGED ? `${shown.slice(0, MAX_LOGGED)}… (${text.length} characters)` : shown;
}

export interface WireLogOptions {
  server: string;
  logRequests: boolean;
  logResponses: boolean;
  logger: Logger;
  /** Takes out what the server was entrusted with. @default nothing */
  redact?: ((text: string) => string) | undefined;
}

/** A function that logs what passes, or undefined when nobody wants to know. */
export function createWireLog({
  server,
  logRequests,
  logResponses,
  logger,
  redact = (text) => text,
}: WireLogOptions): ((direction: "sent" | "received", message: unknown) => void) | undefined {
  if (!logRequests && !logResponses && !channel.enabled) return undefined;
  return (direction, message) => {
    const wanted = direction === "sent" ? logRequests : logResponses;
    if (!wanted && !channel.enabled) return;
    const line = `[${server}] ${direction === "sent" ? "->" : "<-"} ${describeMessage(message, redact)}`;
    if (wanted) logger.info(line);
    channel(line);
  };
}
