import { describe, expect, it } from "vitest";
import { mayNeedProxy } from "./proxy-option.js";
import { createProxyRoutes } from "./proxy-routes.js";

type Env = Readonly<Record<string, string>>;

/** The proxy of a URL, as `host (source)`; undefined: none. */
function route(url: string, env: Env): string | undefined {
  const proxy = createProxyRoutes("env", env)(new URL(url));
  return proxy && `${proxy.host} (${proxy.source})`;
}

describe("which variable counts", () => {
  it.each<[string, string, Env, string | undefined]>([
    ["HTTP_PROXY for http", "http://a.example/", { HTTP_PROXY: "http://p:1" }, "p:1 (HTTP_PROXY)"],
    ["HTTP_PROXY for ws", "ws://a.example/", { HTTP_PROXY: "http://p:1" }, "p:1 (HTTP_PROXY)"],
    ["HTTP_PROXY not for https", "https://a.example/", { HTTP_PROXY: "http://p:1" }, undefined],
    ["HTTPS_PROXY for https", "https://a.example/", { HTTPS_PROXY: "http://p:1" }, "p:1 (HTTPS_PROXY)"],
    ["HTTPS_PROXY for wss", "wss://a.example/", { HTTPS_PROXY: "http://p:1" }, "p:1 (HTTPS_PROXY)"],
    ["HTTPS_PROXY not for http", "http://a.example/", { HTTPS_PROXY: "http://p:1" }, undefined],
    ["ALL_PROXY for both", "wss://a.example/", { ALL_PROXY: "http://p:1" }, "p:1 (ALL_PROXY)"],
    [
      "the variable of the scheme before ALL_PROXY",
      "http://a.example/",
      { ALL_PROXY: "http://p:1", HTTP_PROXY: "http://q:2" },
      "q:2 (HTTP_PROXY)",
    ],
    ["lower case", "https://a.example/", { https_proxy: "http://p:1" }, "p:1 (https_proxy)"],
    [
      "lower case first",
      "http://a.example/",
      { http_proxy: "http://p:1", HTTP_PROXY: "http://q:2" },
      "p:1 (http_proxy)",
    ],
    [
      "an empty value means none",
      "http://a.example/",
      { http_proxy: "", HTTP_PROXY: "http://q:2", ALL_PROXY: "http://r:3" },
      undefined,
    ],
    ["no scheme", "http://a.example/", { HTTP_PROXY: "p:1" }, "p:1 (HTTP_PROXY)"],
    ["no port", "http://a.example/", { HTTP_PROXY: "http://p" }, "p:80 (HTTP_PROXY)"],
    ["TLS to the proxy", "http://a.example/", { HTTP_PROXY: "https://p" }, "p:443 (HTTP_PROXY)"],
    [
      "HTTP_PROXY in a CGI program",
      "http://a.example/",
      { HTTP_PROXY: "http://p:1", REQUEST_METHOD: "GET" },
      undefined,
    ],
    [
      "http_proxy in a CGI program",
      "http://a.example/",
      { http_proxy: "http://p:1", REQUEST_METHOD: "GET" },
      "p:1 (http_proxy)",
    ],
  ])("%s", (_title, url, env, expected) => expect(route(url, env)).toBe(expected));

  it.each([
    "http://localhost:1/",
    "http://app.localhost/",
    "https://127.0.0.1/",
    "https://127.8.8.8/",
    "http://[::1]:5/",
    "http://[::ffff:127.0.0.1]/",
    "http://0.0.0.0/",
    "http://2130706433/",
    "ws://localhost./",
  ])("the loopback target %s uses no proxy", (url) => {
    expect(route(url, { ALL_PROXY: "http://p:1" })).toBeUndefined();
  });
});

describe("NO_PROXY", () => {
  it.each<[string, string, boolean]>([
    ["a.example", "http://a.example/", true],
    ["a.example", "http://A.EXAMPLE./", true],
    ["a.example", "http://sub.a.example/", true],
    ["a.example", "http://nota.example/", false],
    [".a.example", "http://sub.a.example/", true],
    [".a.example", "http://a.example/", true],
    ["*.a.example", "http://sub.a.example/", true],
    ["A.Example.", "http://a.example/", true],
    ["a.example:8080", "http://a.example:8080/", true],
    ["a.example:8080", "http://a.example/", false],
    ["a.example:443", "https://a.example/", true],
    ["a.example:443", "wss://a.example/", true],
    ["a.example:80", "https://a.example/", false],
    ["b.example, a.example", "http://a.example/", true],
    ["b.example a.example", "http://a.example/", true],
    ["*", "https://anything.example/", true],
    ["10.1.2.3", "http://10.1.2.3/", true],
    ["10.0.0.0/8", "http://10.9.9.9/", true],
    ["10.0.0.0/8", "http://11.0.0.1/", false],
    ["10.0.0.0/8:8080", "http://10.9.9.9/", false],
    ["10.0.0.0/99", "http://10.9.9.9/", false],
    ["fd00::/8", "http://[fd00::2]/", true],
    ["[fd00::2]:81", "http://[fd00::2]:81/", true],
    ["[fd00::2]:81", "http://[fd00::2]/", false],
    ["fd00::2", "http://[fd00:0:0::2]/", true],
    ["10.0.0.0/8", "http://ten.example/", false],
    [",, ,", "http://a.example/", false],
  ])("%s and %s: %s", (list, url, isExcepted) => {
    for (const name of ["NO_PROXY", "no_proxy"]) {
      expect(route(url, { ALL_PROXY: "http://p:1", [name]: list }) === undefined).toBe(isExcepted);
    }
  });
});

describe("proxies that cannot be used", () => {
  it.each(["socks5://s:1080", "socks5h://user:hush@s:1080", "socks://s", "ftp://s", "http://:::/"])(
    "%s is an error that names the variable and not the value",
    (value) => {
      const found = () => route("https://a.example/", { HTTPS_PROXY: value });
      expect(found).toThrow(/HTTPS_PROXY/);
      expect(found).not.toThrow(/hush/);
      expect(found).toThrow(expect.objectContaining({ code: "INVALID_CONFIG", outcome: "unsent" }));
    },
  );

  it("is not an error for a target that does not use it", () => {
    const env = { ALL_PROXY: "socks5://s:1", HTTPS_PROXY: "http://p:1", NO_PROXY: "b.example" };
    expect(route("https://a.example/", env)).toBe("p:1 (HTTPS_PROXY)");
    expect(route("http://b.example/", env)).toBeUndefined();
    expect(() => route("http://a.example/", env)).toThrow(/ALL_PROXY/);
  });
});

describe("credentials", () => {
  const header = (proxy: string) =>
    createProxyRoutes(proxy)(new URL("http://a.example"))?.authorization?.replace("Basic ", "");
  it.each([
    ["http://p:1", undefined],
    ["http://ada:secret@p:1", "ada:secret"],
    ["http://ada@p:1", "ada:"],
    ["http://a%40b:p%3Aw%20d@p:1", "a@b:p:w d"],
    ["http://ada:100%@p:1", "ada:100%"],
    ["http://ad%C3%A4:%E2%82%AC@p:1", "adä:€"],
  ])("%s", (proxy, pair) => expect(header(proxy)).toBe(pair && Buffer.from(pair).toString("base64")));
});

describe("the option", () => {
  it("applies to every target if it is an address, also to this machine", () => {
    const routes = createProxyRoutes("http://p:1", { NO_PROXY: "*" });
    expect(routes(new URL("http://127.0.0.1/"))?.source).toBe("proxy");
  });

  it("needs no proxy code if no proxy is set", () => {
    expect(mayNeedProxy("env", { NO_PROXY: "a" })).toBe(false);
    expect(mayNeedProxy("env", { http_proxy: "" })).toBe(false);
    expect(mayNeedProxy(false, { HTTP_PROXY: "http://p" })).toBe(false);
    expect(mayNeedProxy("env", { all_proxy: "http://p" })).toBe(true);
    expect(mayNeedProxy("http://p", {})).toBe(true);
  });
});
