/** The model of `toolport run` behind a proxy. */
import { expect, it } from "vitest";
import { askEndpoint } from "../../packages/cli/src/agent.js";
import { startScriptedServer } from "../fixtures/servers/http-scripted.js";
import { useProxyVariables } from "../support/environment.js";
import { failure } from "../support/failure.js";
import { startNameProxy } from "../support/name-proxy.js";

const setVariables = useProxyVariables();

it("is called through the proxy of the environment, by a name that only the proxy can resolve", async () => {
  await using proxy = await startNameProxy();
  const model = await startScriptedServer((_request, response) => response.end('{"answer":42}'));
  setVariables({ http_proxy: proxy.url.replace("//", "//ada:pw@") });
  const url = new URL(`http://model.invalid:${model.port}/v1/chat`);
  expect(await askEndpoint({ url, headers: {}, body: { question: 1 } })).toEqual({ answer: 42 });
  expect(proxy.seen).toMatchObject([{ headers: { "proxy-authorization": "Basic YWRhOnB3" } }]);
  expect(model.seen[0]?.headers).toMatchObject({ "user-agent": expect.stringMatching(/^toolport\//) });
  expect(model.seen[0]?.headers).not.toHaveProperty("proxy-authorization");
  // Loopback requests use no proxy.
  expect(await askEndpoint({ url: new URL(`${model.url}/v1`), headers: {} })).toEqual({ answer: 42 });
  expect(proxy.seen).toHaveLength(1);
  await model.close();
});

it("the error names an unreachable proxy", async () => {
  setVariables({ HTTPS_PROXY: "http://127.0.0.1:9" });
  const asked = askEndpoint({ url: new URL("https://model.invalid/v1"), headers: {} });
  expect((await failure(asked)).message).toContain("The proxy 127.0.0.1:9 (set by HTTPS_PROXY)");
});
