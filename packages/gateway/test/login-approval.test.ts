/** A login that a call needs first does not replace the approval of the call. */
import { readPolicy } from "toolport/serve";
import { expect, test } from "vitest";
import { startOAuthBench } from "../../../test/support/oauth-bench.js";
import { logIn } from "../../../test/support/oauth-browser.js";
import { PageBrowser } from "./connect-bench.js";
import { openGateway } from "./gateway-scene.js";
import { sendModern } from "./support/raw-gateway-client.js";

const ORIGIN = "http://localhost:9";

interface Login {
  readonly login: { readonly params: { readonly url: string } };
}

test("the user is asked after the login", async () => {
  await using bench = await startOAuthBench();
  await using scene = await openGateway(
    { mcpServers: { vault: { url: bench.url } }, callbackUrl: `${ORIGIN}/connect/callback` },
    {
      url: `${ORIGIN}/mcp`,
      auth: { verify: () => ({ principal: "ada" }) },
      identify: () => "ada",
      policy: await readPolicy({ default: "approve", rules: [] }),
    },
  );
  const call = async (more = {}) => {
    const params = { name: "vault__whoami", arguments: {}, ...more };
    const capabilities = { elicitation: { form: {}, url: {} } };
    return (await sendModern(scene.url, "tools/call", params, { capabilities })).message.result ?? {};
  };
  const first = await call();
  const { login } = first["inputRequests"] as Login;
  const browser = new PageBrowser({ handle: (request: Request) => scene.gateway.fetch(request) } as never);
  const back = await logIn(await browser.follow(login.params.url), "ada-at-vault");
  expect((await browser.open(back)).status).toBe(200);
  const { requestState } = first;
  const second = await call({ requestState, inputResponses: { login: { action: "accept" } } });
  expect(second).toMatchObject({ resultType: "input_required", inputRequests: { approval: {} } });
  const yes = { approval: { action: "accept", content: { allow: true } } };
  const third = await call({ requestState: second["requestState"], inputResponses: yes });
  expect(third.content).toEqual([{ type: "text", text: "ada-at-vault" }]);
});
