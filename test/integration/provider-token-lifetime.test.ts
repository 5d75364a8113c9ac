/** Token responses for a caller's `authProvider` with an unusable `expires_in`. */
import type { OAuthClientProvider } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { createToolport } from "../../packages/core/src/create-toolport.js";
import { startFakeAuthorizationServer } from "../support/fake-authorization-server.js";
import { useServerEach } from "../support/use-server.js";

const fake = useServerEach(startFakeAuthorizationServer);

describe.each(["http", "sse"] as const)("a caller's provider over %s", (transport) => {
  it.each([null, "soon", 0])("gets the tokens although expires_in is %j", async (expiresIn) => {
    fake.expiresIn = expiresIn;
    const saved: unknown[] = [];
    const provider: OAuthClientProvider = {
      redirectUrl: undefined,
      clientMetadata: { redirect_uris: [] },
      clientInformation: () => ({ client_id: "robot", client_secret: "secret" }),
      tokens: () => saved.at(-1) as Awaited<ReturnType<OAuthClientProvider["tokens"]>>,
      saveTokens: (tokens) => void saved.push(tokens),
      redirectToAuthorization: () => {},
      saveCodeVerifier: () => {},
      codeVerifier: () => "",
      prepareTokenRequest: () => new URLSearchParams({ grant_type: "client_credentials" }),
    };
    await using toolport = createToolport({
      mcpServers: { demo: { transport, url: fake.mcpUrl.href, authProvider: provider } },
    });
    await toolport.connect();
    expect(saved[0]).toMatchObject({ access_token: expect.stringContaining("access-") });
    expect(saved[0]).not.toHaveProperty("expires_in");
  });
});
