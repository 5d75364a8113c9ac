/** OAuth of one server against the fake authorization server, used like a transport uses it. */

import { AuthError } from "../../packages/base/src/errors/toolport-error.js";
import {
  createServerOAuth,
  type OAuthContext,
  type ServerOAuth,
} from "../../packages/core/src/auth/server-oauth.js";
import type { OAuthOptions } from "../../packages/core/src/config/read-oauth.js";
import { createFetchClient } from "../../packages/http/src/wire-client.js";
import { memoryStore } from "../../packages/stores/src/memory-store.js";
import type { Store } from "../../packages/stores/src/store.js";
import type { FakeAuthorizationServer } from "./fake-authorization-server.js";

export interface OAuthRig {
  readonly oauth: ServerOAuth;
  readonly store: Store;
  readonly context: OAuthContext;
  readonly warnings: string[];
  /** A call to the protected endpoint. */
  call(): Promise<Response>;
  /** The error of a call that has to fail. */
  failure(): Promise<AuthError>;
  /** Calls, logs in at the URL of the failure, and finishes. */
  logIn(): Promise<string>;
}

export interface RigOptions extends Partial<Omit<OAuthContext, "options" | "identity">> {
  readonly options?: OAuthOptions;
}

export const CALLBACK = "http://127.0.0.1:9/callback";

export function createOAuthRig(fake: FakeAuthorizationServer, given: RigOptions = {}): OAuthRig {
  const warnings: string[] = [];
  const context: OAuthContext = {
    server: "demo",
    identity: `demo/http:${fake.mcpUrl}`,
    serverUrl: fake.mcpUrl,
    options: {},
    principal: undefined,
    store: memoryStore(),
    http: async () => createFetchClient(globalThis.fetch),
    callbackUrl: CALLBACK,
    clientName: "Test",
    warn: (message) => warnings.push(message),
    ...given,
  };
  const oauth = createServerOAuth(context);
  const call = (): Promise<Response> =>
    oauth.send({ method: "POST", url: context.serverUrl }, (headers) =>
      fetch(context.serverUrl, { method: "POST", headers, body: "{}" }),
    );
  const failure = async (): Promise<AuthError> => {
    try {
      await call();
    } catch (error) {
      if (error instanceof AuthError) return error;
      throw error;
    }
    throw new Error("The call did not fail");
  };
  const logIn = async (): Promise<string> => {
    const { authUrl = "" } = await failure();
    await oauth.finish(await fake.logIn(authUrl));
    return authUrl;
  };
  return { oauth, store: context.store, context, warnings, call, failure, logIn };
}

/** A rig with a logged-in user whose token the server has accepted. */
export async function logInRig(fake: FakeAuthorizationServer, given?: RigOptions): Promise<OAuthRig> {
  const rig = createOAuthRig(fake, given);
  await rig.logIn();
  await rig.call();
  return rig;
}

/** A clock that the test advances. */
export function createClock() {
  let time = Date.now();
  return { now: () => time, pass: (ms: number) => (time += ms) };
}
