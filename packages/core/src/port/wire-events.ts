/** The events `message`, `stderr` and `authRequest`. They cost nothing while nothing listens. */

import { toPlainText } from "@toolport/base";
import type { ObservedExchange } from "@toolport/http/guarded-fetch";
import { secretsOf } from "../config/known-secrets.js";
import type { ServerConfig } from "../config/server-config.js";
import type { LiveTap } from "../protocol/request-channel.js";
import type { SharedParts } from "./shared-parts.js";

type Emitter = SharedParts["emitter"];

/** The tap of a connection, which is on while something listens to `message`. */
export function messageEvents(
  emitter: Emitter,
  principal: string | undefined,
  config: ServerConfig,
): LiveTap {
  const redact = secretsOf(config).foreign;
  return {
    isOn: emitter.has.bind(emitter, "message"),
    tap: (direction, message) =>
      emitter.emit("message", { server: config.name, direction, message, redact, principal }),
  };
}

const MAX_LINE = 4_000;

/** Splits stderr into lines while something listens to `stderr`. */
export function stderrEvents(
  emitter: Emitter,
  principal: string | undefined,
  config: ServerConfig,
): (chunk: Uint8Array) => void {
  const redact = secretsOf(config).foreign;
  let decoder = new TextDecoder();
  let rest = "";
  return (chunk) => {
    if (!emitter.has("stderr")) {
      if (rest !== "") [rest, decoder] = ["", new TextDecoder()];
      return;
    }
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    // A program that never ends its line.
    if (rest.length > MAX_LINE) lines.push(rest.slice(0, MAX_LINE));
    if (rest.length > MAX_LINE) rest = "";
    for (const raw of lines) {
      const line = redact(toPlainText(raw)).trimEnd().slice(0, MAX_LINE);
      if (line !== "") emitter.emit("stderr", { server: config.name, line, principal });
    }
  };
}

interface AuthEventSource {
  readonly server: string;
  readonly principal?: string | undefined;
  /** Removes the configured secrets of the server from its texts. */
  readonly redact?: ((text: string) => string) | undefined;
}

/** Describes requests to authorization servers while something listens to `authRequest`. */
export function authEvents(emitter: Emitter, principal?: string) {
  return (exchange: ObservedExchange, login: AuthEventSource): void => {
    if (!emitter.has("authRequest")) return;
    const { redact = (text) => text } = login;
    const challenge = exchange.challenge && redact(exchange.challenge);
    const emit = ({ describeExchange }: typeof import("../auth/describe-exchange.js")) =>
      emitter.emit("authRequest", {
        server: login.server,
        principal: login.principal ?? principal,
        ...describeExchange({ ...exchange, challenge }),
      });
    void import("../auth/describe-exchange.js").then(emit).catch(() => {});
  };
}
