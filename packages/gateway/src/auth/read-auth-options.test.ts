/** Wrong options of a gateway's users are reported at the start, all at once, without values. */

import { ConfigError } from "@toolport/base";
import { describe, expect, it } from "vitest";
import { type GatewayUserOptions, readAuthOptions } from "./auth-options.js";

const url = "https://tools.example.com/mcp";
const issuer = "https://login.example.com";

function problemsOf(options: unknown): string[] {
  try {
    readAuthOptions(options as GatewayUserOptions);
  } catch (error) {
    if (error instanceof ConfigError) return error.issues.map(({ path, message }) => `${path}: ${message}`);
    throw error;
  }
  return [];
}

describe("the options of users", () => {
  it.each<[string, unknown, RegExp]>([
    ["no auth", {}, /^createGateway\.auth: is missing.*auth: false/],
    ["auth: true", { auth: true }, /auth: must be an object/],
    ["an empty auth", { auth: {} }, /auth\.issuer: is missing; give `issuer`, `verify` or `token`/],
    ["an issuer without url and audience", { auth: { issuer } }, /auth\.audience: is missing.*`url`/],
    [
      "an issuer over http",
      { url, auth: { issuer: "http://login.example.com" } },
      /auth\.issuer: must be https/,
    ],
    ["an issuer that is no URL", { url, auth: { issuer: "login" } }, /auth\.issuer: must be an absolute URL/],
    [
      "an issuer with a query",
      { url, auth: { issuer: `${issuer}?a=1` } },
      /auth\.issuer: must not contain a query/,
    ],
    ["a wrong url", { url: "tools", auth: false }, /createGateway\.url: must be an absolute URL/],
    ["a wrong path", { url, path: "mcp", auth: false }, /createGateway\.path: must start with/],
    ["a misspelled option", { url, auth: { issuer, audiences: "x" } }, /did you mean "audience"/],
    ["an empty audience", { url, auth: { issuer, audience: [] } }, /audience: must not be empty/],
    [
      "a symmetric algorithm",
      { url, auth: { issuer, algorithms: ["ES256", "HS256"] } },
      /algorithms\[1\]: must be an asym/,
    ],
    [
      "the algorithm none",
      { url, auth: { issuer, algorithms: ["none"] } },
      /algorithms\[0\]: must be an asym/,
    ],
    ["no algorithm", { url, auth: { issuer, algorithms: [] } }, /algorithms: must not be empty/],
    ["keys without a list", { url, auth: { issuer, jwks: {} } }, /jwks: must be a URL, or an object/],
    ["keys over http", { url, auth: { issuer, jwks: "http://keys.example/keys" } }, /jwks: must be https/],
    [
      "a symmetric key",
      { url, auth: { issuer, jwks: { keys: [{ kty: "oct", k: "c2VjcmV0" }] } } },
      /keys\[0\]: is a symmetric key/,
    ],
    [
      "a private key",
      { url, auth: { issuer, jwks: { keys: [{ kty: "EC", d: "c2VjcmV0" }] } } },
      /keys\[0\]: contains the private key/,
    ],
    ["a scope with a space", { url, auth: { issuer, scopes: ["a b"] } }, /scopes\[0\]: must be one scope/],
    ["a scope with a quote", { url, auth: { issuer, scopes: ['a"b'] } }, /scopes\[0\]: must be one scope/],
    ["a short token", { auth: { token: "c2VjcmV0" } }, /auth\.token: must have at least 32/],
    [
      "a token with a space",
      { auth: { token: `c2VjcmV0 ${"a".repeat(40)}` } },
      /auth\.token: must contain visible/,
    ],
    [
      "a token and an issuer",
      { url, auth: { token: "t".repeat(43), issuer } },
      /auth\.issuer: cannot be combined/,
    ],
    ["a check that is no function", { auth: { verify: true } }, /auth\.verify: must be a function/],
    [
      "keys without an issuer",
      { auth: { verify: () => undefined, jwks: `${issuer}/keys` } },
      /auth\.jwks: needs `issuer`/,
    ],
    [
      "a check and an audience",
      { url, auth: { issuer, verify: () => undefined, audience: "x" } },
      /audience: cannot be combined/,
    ],
    [
      "connect without an issuer",
      { url, auth: { verify: () => undefined, connect: { clientId: "a" } } },
      /auth\.connect: needs `issuer`/,
    ],
    [
      "connect without url",
      { auth: { issuer, audience: "x", connect: { clientId: "a" } } },
      /url: is missing; `auth.connect`/,
    ],
    [
      "connect without a client",
      { url, auth: { issuer, connect: {} } },
      /auth\.connect\.clientId: is missing/,
    ],
    [
      "identify without url",
      { auth: { issuer, audience: "x" }, identify: () => "a" },
      /url: is missing; `identify`/,
    ],
    [
      "principal that is no function",
      { url, auth: { issuer }, principal: "sub" },
      /principal: must be a function/,
    ],
  ])("%s", (_name, options, message) => {
    const problems = problemsOf(options);
    expect(problems).toEqual([expect.stringMatching(message)]);
    expect(problems.join()).not.toContain("c2VjcmV0");
  });

  it("are read with their defaults", () => {
    expect(readAuthOptions({ url: "https://tools.example.com", auth: { issuer } })).toMatchObject({
      mode: "jwt",
      audiences: [url, `${url}/`],
      scopes: [],
      addresses: { resource: url, connectUrl: "https://tools.example.com/connect" },
    });
    expect(readAuthOptions({ auth: { issuer: "http://127.0.0.1:1", audience: "x" } }).audiences).toEqual([
      "x",
    ]);
    expect(readAuthOptions({ auth: false }).mode).toBe("off");
    expect(readAuthOptions({ auth: { token: "t".repeat(32) } }).mode).toBe("token");
  });

  it("may have a prefix of a proxy in the address", () => {
    const { addresses } = readAuthOptions({ url: "https://example.com/tools/mcp/", auth: false });
    expect(addresses).toEqual({
      resource: "https://example.com/tools/mcp",
      metadataUrl: "https://example.com/.well-known/oauth-protected-resource/tools/mcp",
      connectUrl: "https://example.com/tools/connect",
    });
  });
});
