/** A server that is hidden from a user, and waits for a login, is named by no error, and no login at it begins. */
import { type GatewayOptions, readPolicy } from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";
import { startOAuthBench } from "../../../test/support/oauth-bench.js";
import { openGateway } from "./gateway-scene.js";
import { callModern, sendModern } from "./support/raw-gateway-client.js";

test.each<[string, () => Promise<Partial<GatewayOptions>>]>([
  ["`servers`", async () => ({ servers: () => ["shop"] })],
  [
    "the policy",
    async () => ({
      policy: await readPolicy({ default: "deny", rules: [{ effect: "allow", server: "shop" }] }),
    }),
  ],
])("hidden by %s", async (_title, options) => {
  await using bench = await startOAuthBench();
  await using shop = createTestServer({ tools: { buy: { handler: () => "bought" } } });
  await using scene = await openGateway(
    {
      mcpServers: { vault: { url: bench.url }, shop: shop.memory() },
      callbackUrl: "http://localhost:9/callback",
    },
    { auth: false, ...(await options()) } as GatewayOptions,
  );
  await sendModern(scene.url, "tools/list");
  for (const name of ["vault__sign_in", "vault__whoami", "nothing__whoami"])
    expect((await callModern(scene.url, name)).message.error).toMatchObject({
      message: expect.stringContaining(`There is no tool named "${name}"`),
    });
});
