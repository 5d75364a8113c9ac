import { expect, test } from "vitest";
import { parseServerEntry } from "./parse-servers.js";
import { redactSecrets } from "./redact-secrets.js";

test("header values go, with their scheme and without; other text stays", () => {
  const headers = { Authorization: "Bearer abcdef123", "X-Key": "key-98765", "X-Short": "1" };
  const redact = redactSecrets(parseServerEntry("s", { url: "https://example.com/mcp", headers }));
  expect(redact("You sent Bearer abcdef123 and key-98765, or abcdef123 for 1 short")).toBe(
    "You sent [redacted: Authorization] and [redacted: X-Key], or [redacted: Authorization] for 1 short",
  );
});

test("values of variables go", () => {
  const redact = redactSecrets(parseServerEntry("s", { command: "x", env: { TOKEN: "abcdef123" } }));
  expect(redact("abcdef123!")).toBe("[redacted: TOKEN]!");
});

test("headers of a function are not known", () => {
  const redact = redactSecrets(
    parseServerEntry("s", {
      url: "https://example.com/mcp",
      headers: async () => ({ "x-key": "abcdef123" }),
    }),
  );
  expect(redact("abcdef123")).toBe("abcdef123");
});
