import { describeCommand, exportConfig } from "@toolport/config";
import { describe, expect, it } from "vitest";
import { secretsOf } from "./known-secrets.js";
import { parseServerEntry } from "./parse-servers.js";
import type { HttpConfig } from "./server-config.js";

const url = "https://a.example/mcp";
const parse = (proxy: unknown) => parseServerEntry("a", { url, proxy }) as HttpConfig;

describe("proxy", () => {
  it.each([false, "env", "http://p:3128", "https://ada:pw@p"])("%s is taken", (proxy) => {
    expect(parse(proxy).proxy?.reveal()).toBe(proxy);
    expect(parse(new URL("http://p:1")).proxy?.reveal()).toBe("http://p:1/");
  });

  it.each([true, "", "none", "p:3128", "ftp://p", 3128, null, "socks5://ada:hush@p:1"])(
    "%s is refused without showing it",
    (proxy) => {
      expect(() => parse(proxy)).toThrow(/mcpServers\.a\.proxy: (must be "env"|is a SOCKS proxy)/);
      expect(() => parse(proxy)).not.toThrow(/hush/);
    },
  );

  it("belongs to servers with an address", () => {
    expect(() => parseServerEntry("a", { command: "x", proxy: "env" })).toThrow(
      /proxy: is not an option of a stdio server/,
    );
    expect(() => parseServerEntry("a", { url: "ws://a/", proxy: false })).not.toThrow();
  });

  it("its password is shown nowhere", () => {
    const config = parse("http://ada:s3cret%40pw@p:1");
    expect(JSON.stringify(config)).not.toContain("s3cret");
    expect(secretsOf(config).foreign("it said s3cret%40pw and s3cret@pw")).not.toContain("s3cret");
    const { text } = describeCommand({ url, proxy: "http://ada:s3cret@p:1" });
    expect(text).toContain("sends its requests through the proxy p:1");
    expect(text).not.toContain("s3cret");
  });

  it("is exported without credentials", () => {
    const mcpServers = { a: { url, proxy: "http://ada:s3cret@p:1" }, b: { url, proxy: false as const } };
    const own = exportConfig(mcpServers, "toolport");
    expect(JSON.stringify(own)).not.toContain("s3cret");
    expect(own.text).toContain("http://p:1/");
    expect(own.warnings.join()).toContain("password of its proxy are left out");
    expect(exportConfig(mcpServers, "toolport", { secrets: "keep" }).text).toContain("s3cret");
    expect(exportConfig(mcpServers, "cursor").warnings.join()).toContain("has its own proxy");
  });
});
