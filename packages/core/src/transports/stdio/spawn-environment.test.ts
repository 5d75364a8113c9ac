import { describe, expect, it } from "vitest";
import { mergeEnvironment, safeEnvironment, serveChain } from "./spawn-environment.js";

describe("mergeEnvironment", () => {
  const defaults = { PATH: "/bin", HOME: "/home/me" };

  it("prefers the server's own variables to the safe ones", () => {
    const env = mergeEnvironment({ defaults, own: { PATH: "/mine", KEY: "k" }, platform: "linux" });
    expect(env).toEqual({ PATH: "/mine", HOME: "/home/me", KEY: "k" });
  });

  it("inherits all variables if configured", () => {
    const inherited = { PATH: "/bin", SECRET: "s", gone: undefined };
    expect(mergeEnvironment({ defaults, inherited, own: {}, platform: "linux" })).toEqual({
      PATH: "/bin",
      SECRET: "s",
    });
  });

  it("treats Path and PATH as one variable on Windows", () => {
    const env = mergeEnvironment({
      defaults: { Path: "a", TEMP: "t" },
      own: { PATH: "b" },
      platform: "win32",
    });
    expect(env).toEqual({ PATH: "b", TEMP: "t" });
  });
});

const NETWORK = [
  ...["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"],
  ...["http_proxy", "https_proxy", "all_proxy", "no_proxy"],
  ...["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"],
];

describe("safeEnvironment", () => {
  it("has the variables of the SDK, and those for proxies and certificates", async () => {
    const { getDefaultEnvironment } = await import("@modelcontextprotocol/client/stdio");
    const network = Object.fromEntries(NETWORK.map((name) => [name, `value of ${name}`]));
    expect(safeEnvironment({ ...process.env, ...network, GITHUB_TOKEN: "t" })).toEqual({
      ...getDefaultEnvironment(),
      ...network,
    });
  });

  it("omits HTTP_PROXY in a CGI program", () => {
    const env = { HTTP_PROXY: "http://evil", http_proxy: "http://p", REQUEST_METHOD: "GET" };
    expect(safeEnvironment(env, "linux")).toEqual({ http_proxy: "http://p" });
  });

  it("omits shell functions and all other variables", () => {
    expect(safeEnvironment({ PATH: "/bin", TERM: "() { :; }", TOKEN: "t" }, "linux")).toEqual({
      PATH: "/bin",
    });
    expect(safeEnvironment({ PATH: "C:\\", SYSTEMROOT: "C:\\w", SHELL: "sh" }, "win32")).toEqual({
      PATH: "C:\\",
      SYSTEMROOT: "C:\\w",
    });
  });
});

describe("serveChain", () => {
  it("has the variable of the programs above, if there is one", () => {
    expect(serveChain({ TOOLPORT_SERVE_CHAIN: "a/b", OTHER: "c" })).toEqual({ TOOLPORT_SERVE_CHAIN: "a/b" });
    expect(serveChain({ OTHER: "c" })).toEqual({});
  });
});
