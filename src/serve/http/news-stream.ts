/** The GET stream of a legacy client: changed lists, changed resources and log messages of its user's servers. */
import { type GatewayClient, legacyClient } from "../client.js";
import type { GatewayParts } from "../request-context.js";
import type { OpenedSession } from "../sessions.js";
import { openLegacyFeed } from "../streams/listen.js";
import type { GatewayUser } from "../users.js";
import { EventStream } from "./event-stream.js";
import type { Headers, HttpReply } from "./http-request.js";

interface NewsStreamOptions {
  readonly owner: GatewayUser;
  readonly user: Pick<GatewayClient, "principal" | "scopes" | "expiresAt">;
  readonly session: OpenedSession;
  readonly headers: Headers;
  /** The first message. */
  readonly first: string | undefined;
}

/** Ends with the session, with the credential of the user, and with the client. */
export function openNewsStream(
  parts: GatewayParts,
  reply: HttpReply,
  { owner, user, session, headers, first }: NewsStreamOptions,
): EventStream {
  const { users, sessions } = parts;
  const letGo = users.openStream(owner);
  const stream = new EventStream(reply, headers, ": open\n\n");
  if (first === undefined) stream.flush();
  else stream.send(first);
  const { key } = session;
  const stopFeed = openLegacyFeed(parts, owner, {
    client: () => legacyClient(user, { ...session, session: key, logLevel: sessions.stateOf(key).logLevel }),
    send: (text) => stream.send(text),
    usesReplicas: true,
  });
  const stopEnding = sessions.onChange((changed) => {
    if (changed === key && sessions.stateOf(key).isEnded) stream.finish();
  });
  stream.endWithCredential(user.expiresAt);
  void stream.closed.then(() => {
    stopEnding();
    stopFeed();
    letGo();
    stream.end();
  });
  return stream;
}
