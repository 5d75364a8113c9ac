/** The command line behind a proxy: consent to a proxy in a project file, and checks of `doctor`. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { startFaultServer } from "../../../test/fixtures/servers/fault-http.js";
import { type CommandLinePlace, createCommandLinePlace } from "../../../test/support/command-line.js";
import { useProxyVariables } from "../../../test/support/environment.js";
import { type NameProxy, startNameProxy } from "../../../test/support/name-proxy.js";

let place: CommandLinePlace;
let proxy: NameProxy;
beforeEach(async () => {
  place = createCommandLinePlace();
  proxy = await startNameProxy();
});
afterEach(async () => {
  place[Symbol.dispose]();
  await proxy[Symbol.asyncDispose]();
});
const setVariables = useProxyVariables();

test("shows a proxy in a project file and requires consent, again after a change", async () => {
  const server = await startFaultServer();
  place.configure({ it: { ...server.entry, proxy: proxy.url } });
  const refused = await place.run(["call", "it.fine", "--json"]);
  expect([refused.code, refused.error().code]).toEqual([2, "NOT_TRUSTED"]);
  const { stderr } = await place.run(["list"]);
  expect(stderr).toContain(`"proxy": "${proxy.url}"`);
  expect(stderr).toContain(`sends its requests through the proxy ${proxy.host}`);
  expect(proxy.seen).toEqual([]);
  expect((await place.run(["list", "--yes"])).code).toBe(0);
  expect((await place.run(["call", "it.fine"])).stdout).toContain("fine");
  expect(proxy.seen.length).toBeGreaterThan(0);
  for (const other of ["http://127.0.0.1:9", false]) {
    place.configure({ it: { ...server.entry, proxy: other } });
    const changed = await place.run(["call", "it.fine", "--json"]);
    expect([changed.code, changed.error().code]).toEqual([2, "NOT_TRUSTED"]);
  }
  await server.close();
});

test("uses the environment's proxy for names that only the proxy can resolve, in calls and doctor", async () => {
  const server = await startFaultServer();
  const { port } = new URL(server.entry.url);
  setVariables({ http_proxy: proxy.url });
  place.configure({ it: { url: `http://mcp.invalid:${port}/mcp` } });
  expect((await place.run(["list", "--yes"])).code).toBe(0);
  expect((await place.run(["call", "it.fine"])).stdout).toContain("fine");
  const { stdout } = await place.run(["doctor"]);
  expect(stdout).toContain(`Connects through the proxy ${proxy.host} (http_proxy)`);
  expect(stdout).not.toContain("was not found");
  await server.close();
});

test("doctor names the variable of an unusable proxy", async () => {
  setVariables({ ALL_PROXY: "socks5://127.0.0.1:9" });
  place.configure({ it: { url: "http://mcp.invalid/mcp" } });
  await place.run(["list", "--yes"]);
  const { code, stdout } = await place.run(["doctor"]);
  expect(code).not.toBe(0);
  expect(stdout).toContain("ALL_PROXY names a SOCKS proxy");
});

test("sends registry requests through the proxy", async () => {
  setVariables({ HTTP_PROXY: proxy.url });
  await place.run(["search", "weather", "--registry", "http://registry.invalid:9"]);
  expect(proxy.seen[0]?.target).toContain("http://registry.invalid:9/");
});
