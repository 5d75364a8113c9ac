/** A server that waits for a login is one tool in the list of a gateway, and calling it says what to do. */
import { expect, test } from "vitest";
import { startOAuthBench } from "../../../test/support/oauth-bench.js";
import { openGateway } from "./gateway-scene.js";

test.each(["modern", "legacy"] as const)(
  "%s clients see a tool for the login, and its result",
  async (era) => {
    await using bench = await startOAuthBench();
    await using scene = await openGateway({
      mcpServers: { vault: { url: bench.url } },
      callbackUrl: "http://localhost:9/callback",
    });
    const client = await scene.client(era);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["vault__sign_in"]);
    const result = await client.callTool({ name: "vault__sign_in", arguments: {} });
    expect(result).toMatchObject({
      isError: true,
      content: [{ type: "text", text: expect.stringMatching(/^Log in to vault/) }],
      _meta: { "toolport/error": { code: "AUTH_REQUIRED" } },
    });
  },
);
