import { inspect } from "node:util";
import { ConnectionError, ToolCallError } from "@toolport/base";
import { describe, expect, test } from "vitest";
import { secretsOf, shareSecrets } from "./known-secrets.js";
import { parseServerEntry } from "./parse-servers.js";
import type { ServerEntry } from "./server-entry.js";

const of = (entry: ServerEntry) => secretsOf(parseServerEntry("s", entry));
const URL_ENTRY = { url: "https://example.com/mcp" };

describe("secrets are", () => {
  test("header values, with their scheme and without; other text stays", () => {
    const headers = { Authorization: "Bearer abcdef123", "X-Key": "key-98765", "X-Short": "1" };
    expect(
      of({ ...URL_ENTRY, headers }).foreign(
        "You sent Bearer abcdef123 and key-98765, or abcdef123 for 1 short",
      ),
    ).toBe(
      "You sent [redacted: Authorization] and [redacted: X-Key], or [redacted: Authorization] for 1 short",
    );
  });

  test("passwords of Basic credentials and values of cookies", () => {
    const headers = {
      Authorization: `Basic ${btoa("ada:hunter2!x")}`,
      Cookie: "a=dark; session=abc-123-def",
    };
    const { foreign } = of({ ...URL_ENTRY, headers });
    expect(foreign("hunter2!x ada:hunter2!x abc-123-def dark")).not.toMatch(/hunter|abc-123/);
  });

  test("values of variables", () => {
    expect(of({ command: "x", env: { TOKEN: "abcdef123" } }).foreign("abcdef123!")).toBe(
      "[redacted: TOKEN]!",
    );
  });

  test("the query of the address, as written and as read, a key without a value, and keys in the path", () => {
    const { foreign } = of({
      url: "https://example.com/t/0c9d2e17aa51b7c6f4d2/mcp?key=a%2Fb%20c+d&sk-abcdef",
    });
    const said =
      "/t/0c9d2e17aa51b7c6f4d2/mcp?key=a%2Fb%20c+d&sk-abcdef | a/b c d | a%2fb%20c+d | a%2Fb+c+d | sk-abcdef";
    expect(foreign(said)).toBe(
      "/t/[redacted: path]/mcp?[redacted: query] | [redacted: query] | [redacted: query] | [redacted: query] | [redacted: query]",
    );
  });

  test("arguments after options for secrets, and variables of a container", () => {
    const stdio = of({
      command: "x",
      args: ["--api-key", "abcdef123", "--token=ghijkl456", "--name", "weather"],
    });
    expect(stdio.foreign("abcdef123 ghijkl456 weather")).toBe(
      "[redacted: --api-key] [redacted: --token] weather",
    );
    const docker = of({
      transport: "docker",
      image: "x",
      runArgs: ["-e", "KEY=abcdef123", "--env=OTHER=ghijkl456"],
    } as ServerEntry);
    expect(docker.foreign("abcdef123 ghijkl456")).toBe("[redacted: KEY] [redacted: OTHER]");
  });

  test("secrets of OAuth, not its ids and addresses", () => {
    const oauth = {
      clientId: "client-12345",
      clientSecret: "abcdef123",
      issuer: "https://issuer.example.com",
    };
    expect(of({ ...URL_ENTRY, oauth }).foreign("client-12345 abcdef123 https://issuer.example.com")).toBe(
      "client-12345 [redacted: clientSecret] https://issuer.example.com",
    );
  });

  test("headers that were sent, the last few of each name; not those of the protocol", () => {
    const secrets = of({ ...URL_ENTRY, headers: async () => ({}) });
    for (let turn = 0; turn < 10; turn += 1) secrets.note({ authorization: `Bearer token-${turn}-abc` });
    secrets.note({
      "mcp-name": "forecast",
      "mcp-param-city": "Reykjavik",
      "content-type": "application/json",
    });
    expect(secrets.foreign("token-9-abc token-2-abc forecast Reykjavik application/json")).toBe(
      "[redacted: authorization] [redacted: authorization] forecast Reykjavik application/json",
    );
  });

  test("addresses that the server sent", () => {
    const secrets = of({ ...URL_ENTRY, headers: {} });
    secrets.noteAddress(new URL("http://127.0.0.1/messages?session=abc%2Fdef&n=1"));
    expect(secrets.foreign("no /messages?session=abc%2Fdef&n=1 and no abc/def here, 1")).toBe(
      "no /messages?[redacted: query] and no [redacted: query] here, 1",
    );
  });

  test("the same for another configuration of the same server", () => {
    const config = parseServerEntry("s", { ...URL_ENTRY, headers: { "X-Key": "key-98765" } });
    expect(secretsOf(shareSecrets(config, { ...config })).foreign("key-98765")).toBe("[redacted: X-Key]");
  });
});

describe("every spelling", () => {
  const secret = `a/b "c"&<d>'e'+é\\f`;
  const { foreign } = of({ command: "x", env: { KEY: secret } });
  test.each([
    ["as it is", secret],
    ["in JSON", JSON.stringify({ secret })],
    ["in a URL", `?a=${encodeURIComponent(secret)}`],
    ["in a form", `${new URLSearchParams({ a: secret })}`],
    [
      "in HTML",
      secret.replace(
        /[&<>"']/g,
        (c) => `&${{ "&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "#39" }[c]};`,
      ),
    ],
  ])("%s", (_where, text) => {
    expect(foreign(text)).toContain("[redacted: KEY]");
    expect(foreign(text)).not.toContain("d&gt;");
    expect(foreign(text)).not.toMatch(/%3Cd|<d>/);
  });
});

describe("errors", () => {
  const secrets = of({ command: "x", env: { KEY: "abcdef123", MODE: "server" } });

  test("are redacted in place; names, codes and objects of the caller stay unchanged", () => {
    const foreign = Object.assign(new TypeError("no abcdef123"), { data: { text: "abcdef123" } });
    const attempt = new ConnectionError({ code: "CLOSED", what: "abcdef123", stderrTail: "abcdef123" });
    const round: Record<string, unknown> = { key: "abcdef123" };
    round["self"] = round;
    const error = new ToolCallError({
      code: "PROTOCOL",
      server: "abcdef123",
      what: "The server said abcdef123",
      next: "Look for abcdef123",
      data: { deep: [{ abcdef123: "x abcdef123" }], round, date: new Date(0) },
      issues: [{ path: "/abcdef123", message: "abcdef123" }],
      result: "abcdef123",
      attempts: [attempt],
      cause: foreign,
    });
    expect(secrets.redactError(error)).toBe(error);
    expect(error.server).toBe("abcdef123");
    expect(
      inspect({ ...error, server: "", stack: error.stack?.split("]")[1], cause: error.cause }, { depth: 20 }),
    ).not.toContain("abcdef123");
    expect(error.what).toBe("The server said [redacted: KEY]");
    expect(error.message).toContain("The server said [redacted: KEY]. Look for [redacted: KEY]");
    expect(error.attempts).toEqual([attempt]);
    expect(attempt.message).toBe("[redacted: KEY]. (CLOSED)");
    expect(error.cause).toBeInstanceOf(TypeError);
    expect((error.cause as Error).message).toBe("no [redacted: KEY]");
    // It is not ours: only the copy is clean.
    expect(foreign.message).toBe("no abcdef123");
  });

  test("ordinary words stay in messages of Toolport, and are redacted in text of the server", () => {
    const error = new ConnectionError({
      code: "CLOSED",
      what: "The server ended",
      stderrTail: "mode server",
    });
    secrets.redactError(error);
    expect(error).toMatchObject({ what: "The server ended", stderrTail: "mode [redacted: MODE]" });
  });

  test("values without secrets are not copied, and other values stay unchanged", () => {
    const data = { a: [1, "b"] };
    const error = new ToolCallError({ code: "PROTOCOL", what: "x", data });
    expect(secrets.redactError(error).data).toBe(data);
    expect(secrets.redactError(data)).toBe(data);
    expect(secrets.redactError(undefined)).toBeUndefined();
  });

  test("data of any depth", () => {
    let deep: unknown = "abcdef123";
    for (let level = 0; level < 100_000; level += 1) deep = { a: deep };
    const error = secrets.redactError(new ToolCallError({ code: "PROTOCOL", what: "x", data: deep }));
    expect(inspect(error, { depth: 200 })).not.toContain("abcdef123");
  });
});
