/** The environment of a server process: variables for proxies and certificates, and no others. */
import { fileURLToPath } from "node:url";
import { createToolport } from "toolport";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

const script = fileURLToPath(new URL("../fixtures/servers/stdio-lean.mjs", import.meta.url));
const NETWORK = [
  ...["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"],
  ...["http_proxy", "https_proxy", "all_proxy", "no_proxy"],
  ...["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"],
];

beforeEach(() => {
  for (const name of [...NETWORK, "GITHUB_TOKEN"]) vi.stubEnv(name, `value-of-${name}`);
});
afterEach(() => vi.unstubAllEnvs());

/** These variables, as a server process sees them. */
async function seenBy(env: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  const entry = { command: process.execPath, args: [script], env };
  await using toolport = createToolport({ mcpServers: { it: entry } });
  const seen: Record<string, string> = {};
  for (const name of [...NETWORK, "GITHUB_TOKEN"])
    seen[name] = (await toolport.callTool("it__env", { name })).text;
  return seen;
}

it("passes the variables for proxies and certificates, prefers those of the entry, and passes no others", async () => {
  const seen = await seenBy({ HTTPS_PROXY: "http://mine:1", NODE_EXTRA_CA_CERTS: "" });
  expect(seen).toEqual({
    ...Object.fromEntries(NETWORK.map((name) => [name, `value-of-${name}`])),
    HTTPS_PROXY: expect.stringMatching(/mine|redacted|HTTPS_PROXY/),
    NODE_EXTRA_CA_CERTS: "",
    GITHUB_TOKEN: "",
  });
});

it("does not pass an HTTP_PROXY that a CGI request may have set", async () => {
  vi.stubEnv("REQUEST_METHOD", "GET");
  expect(await seenBy({})).toMatchObject({ HTTP_PROXY: "", http_proxy: "value-of-http_proxy" });
});
