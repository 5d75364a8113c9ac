/** A gateway whose users have tokens of a real issuer, and requests to it exactly as a test writes them. */
import type { ToolportOptions } from "toolport";
import type { GatewayAuth, GatewayOptions } from "toolport/serve";
import {
  createSigningKey,
  type KeyServer,
  type SigningKey,
  startKeyServer,
} from "../../../test/support/key-server.js";
import { type GatewayScene, openGateway } from "./gateway-scene.js";
import { type Fields, type GatewayAnswer, META, post, type RawPost, VERSIONS } from "./raw-client.js";

export const URL_OF_GATEWAY = "https://tools.example.com/mcp";

export interface AttackScene extends GatewayScene {
  readonly issuer: KeyServer;
  readonly key: SigningKey;
  /** The name under which the gateway knows a user of the issuer. */
  principalOf(user: string): string;
  tokenOf(user: string, claims?: Fields): Promise<string>;
  /** Sends one request of a modern client. */
  modern(user: string, method: string, params?: Fields, more?: ModernPost): Promise<GatewayAnswer>;
  /** Starts a legacy session. */
  session(user: string, capabilities?: Fields): Promise<string>;
  /** Sends one message of a legacy client. */
  legacy(user: string, session: string | undefined, message: Fields, more?: RawPost): Promise<GatewayAnswer>;
}

export interface ModernPost extends RawPost {
  /** What the client declares. @default {} */
  readonly capabilities?: Fields;
  /** More fields of `_meta`. */
  readonly meta?: Fields;
}

/** @param gatewayOptions `auth` may add to the issuer and the users of the scene */
export async function openAttackScene(
  options: ToolportOptions,
  { auth, ...gatewayOptions }: GatewayOptions & { readonly auth?: GatewayAuth } = {},
  shared?: Pick<AttackScene, "issuer" | "key">,
): Promise<AttackScene> {
  const key = shared?.key ?? (await createSigningKey("one"));
  const issuer = shared?.issuer ?? (await startKeyServer([key]));
  const scene = await openGateway(options, {
    url: URL_OF_GATEWAY,
    auth: { issuer: issuer.issuer, ...auth },
    ...gatewayOptions,
  });
  const tokenOf = (user: string, claims: Fields = {}): Promise<string> =>
    key.sign({
      iss: issuer.issuer,
      sub: user,
      aud: URL_OF_GATEWAY,
      exp: Math.floor(Date.now() / 1_000) + 3_600,
      ...claims,
    });
  const send = async (user: string, message: Fields, { headers, ...more }: RawPost) =>
    post(scene.url, message, {
      headers: { authorization: `Bearer ${await tokenOf(user)}`, ...headers },
      ...more,
    });
  const legacy: AttackScene["legacy"] = (user, session, message, { headers, ...more } = {}) =>
    send(
      user,
      { jsonrpc: "2.0", ...message },
      { headers: { ...(session !== undefined && { "mcp-session-id": session }), ...headers }, ...more },
    );
  return {
    ...scene,
    issuer,
    key,
    principalOf: (user) => JSON.stringify([issuer.issuer, user]),
    tokenOf,
    modern: (user, method, params = {}, { capabilities = {}, meta, headers, ...more } = {}) =>
      send(
        user,
        {
          jsonrpc: "2.0",
          id: 1,
          method,
          params: {
            ...params,
            _meta: { [META.version]: VERSIONS.modern, [META.capabilities]: capabilities, ...meta },
          },
        },
        {
          headers: {
            "mcp-protocol-version": VERSIONS.modern,
            "mcp-method": method,
            ...nameHeader(params),
            ...headers,
          },
          ...more,
        },
      ),
    async session(user, capabilities = {}) {
      const clientInfo = { name: "raw", version: "1" };
      const params = { protocolVersion: VERSIONS.legacy, capabilities, clientInfo };
      const { headers } = await legacy(user, undefined, { id: 0, method: "initialize", params });
      return headers.get("mcp-session-id") ?? "";
    },
    legacy,
    async [Symbol.asyncDispose]() {
      await scene[Symbol.asyncDispose]();
      if (shared === undefined) await issuer[Symbol.asyncDispose]();
    },
  };
}

function nameHeader({ name, uri, taskId }: Fields): Record<string, string> {
  const named = name ?? uri ?? taskId;
  return typeof named === "string" ? { "mcp-name": named } : {};
}
