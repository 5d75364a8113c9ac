import { describe, expect, it } from "vitest";
import { writePolicy } from "./console-apps.js";

const sources = async (csp: unknown, directive = "connect-src") => {
  const { policy } = await writePolicy(csp);
  return policy
    .split("; ")
    .find((part) => part.startsWith(directive))
    ?.slice(directive.length + 1);
};

describe("the policy of an app's document", () => {
  it.each([undefined, null, 5, "https://a.example.com", { connectDomains: "https://a.example.com" }, {}])(
    "allows nothing without declared origins: %j",
    async (csp) => {
      const { policy, refused } = await writePolicy(csp);
      expect(policy).toBe(
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; " +
          "media-src data: blob:; connect-src 'none'; frame-src 'none'; base-uri 'none'; form-action 'none'; " +
          "frame-ancestors 'self'; webrtc 'block'; sandbox allow-scripts",
      );
      expect(refused).toEqual([]);
    },
  );

  it.each([
    ["https://api.example.com", "https://api.example.com"],
    ["https://API.example.com:8443/v1?x=1#y", "https://api.example.com:8443"],
    ["https://*.example.com", "https://*.example.com"],
    ["https://bücher.example", "https://xn--bcher-kva.example"],
    ["https://8.8.8.8", "https://8.8.8.8"],
  ])("writes the origin of %s", async (declared, source) =>
    expect(await sources({ connectDomains: [declared] })).toBe(source),
  );

  it.each<unknown>([
    "http://api.example.com",
    "wss://api.example.com",
    "https:",
    "*",
    "https://*",
    "https://*.com",
    "https://*.8.8.8.8",
    "'unsafe-eval'",
    "data:",
    "https://a.example.com;script-src",
    "https://a.example.com; script-src *",
    "https://a.example.com 'unsafe-eval'",
    "https://a.example.com,https://b.example.com",
    "https://a.*.example.com",
    "https://a.example.com'unsafe-eval'",
    'https://a.example.com"',
    "https://*.*.example.com",
    "https://**.example.com",
    "https://*.127.0.0.1",
    "https://*.localhost",
    "https://localhost.",
    "https://x.localhost.",
    "https://127.1",
    "https://0177.0.0.1",
    "https://127。0。0。1",
    "https://%6c%6f%63alhost",
    "https://[::ffff:127.0.0.1]",
    "https://[fe80::1]",
    "https://0.0.0.0",
    "https://a.example.com\u0000.example.com",
    "https://a_b.example.com",
    "blob:https://a.example.com",
    { toString: 1, valueOf: 2 },
    {},
    true,
    "https://user:secret@example.com",
    "https://localhost",
    "https://intranet",
    "https://printer.local",
    "https://*.internal",
    "https://127.0.0.1",
    "https://2130706433",
    "https://0x7f.1",
    "https://10.0.0.1",
    "https://169.254.169.254",
    "https://[::1]",
    "https://[::ffff:10.0.0.1]",
    `https://${"a".repeat(400)}.example.com`,
    5,
    null,
    ["https://a.example.com"],
  ])("refuses %j", async (declared) => {
    const csp = { connectDomains: [declared], resourceDomains: [declared], frameDomains: [declared] };
    const { policy, refused } = await writePolicy(csp);
    expect(policy).toBe((await writePolicy({})).policy);
    expect(refused).toHaveLength(3);
  });

  it("uses each list for its own directives", async () => {
    const csp = { resourceDomains: ["https://cdn.example.com"], frameDomains: ["https://video.example.com"] };
    expect(await sources(csp, "script-src")).toBe("'unsafe-inline' https://cdn.example.com");
    expect(await sources(csp, "img-src")).toBe("data: blob: https://cdn.example.com");
    expect(await sources(csp, "frame-src")).toBe("https://video.example.com");
    expect(await sources(csp)).toBe("'none'");
  });

  it("limits the number of origins", async () => {
    const connectDomains = Array.from({ length: 1_000 }, (_, index) => `https://a${index}.example.com`);
    expect((await sources({ connectDomains }))?.split(" ")).toHaveLength(50);
  });
});
