/** Logs messages of the wire, shortened and with secrets redacted. */
import { redactText } from "../util/redact-text.js";
import { debugChannel } from "./debug-channel.js";
import type { Logger } from "./logger.js";

/** Names of fields whose values must not be logged. */
const SECRET_NAME =
  /token|secret|password|passwd|authorization|api[-_]?key|cookie|credential|private[-_]?key/i;
/** Must not be logged either. Separate, because recordings need the sessions of tools. */
const SESSION_NAME = /session[-_]?id/i;
const MAX_LOGGED = 2_000;

/** Whether the name of a field indicates a secret. */
export const isSecretName = (name: string): boolean => SECRET_NAME.test(name) && name !== "progressToken";

const channel = debugChannel("wire");

/** The message as text, with secrets redacted and long text truncated. */
export function describeMessage(message: unknown, redact: (text: string) => string = (text) => text): string {
  const text = JSON.stringify(message, (name, value: unknown) => {
    if ((isSecretName(name) || SESSION_NAME.test(name)) && value !== null) return "[redacted]";
    // Redact before truncating: part of a secret is still a secret.
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
  /** Removes the configured secrets of the server. @default returns the text unchanged */
  redact?: ((text: string) => string) | undefined;
}

/** Returns a function that logs messages; undefined if neither the logger nor the debug channel needs them. */
export function createWireLog({
  server,
  logRequests,
  logResponses,
  logger,
  redact = (text) => text,
}: WireLogOptions): ((direction: "sent" | "received", message: unknown) => void) | undefined {
  if (!logRequests && !logResponses && !channel.enabled) return undefined;
  return (direction, message) => {
    const isLogged = direction === "sent" ? logRequests : logResponses;
    if (!isLogged && !channel.enabled) return;
    const line = `[${server}] ${direction === "sent" ? "->" : "<-"} ${describeMessage(message, redact)}`;
    if (isLogged) logger.info(line);
    channel(line);
  };
}
