/** Mistakes in options and entries: the error names the mistake and says what to write. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createToolport, type ToolportOptions } from "toolport";
import { describe, expect, test } from "vitest";
import { failure } from "../support/failure.js";

function refusal(options: unknown): string {
  try {
    createToolport(options as ToolportOptions);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("Expected a refusal");
}

describe("names", () => {
  test.each([
    [{ timeout: 1 }, 'options.timeout: is not a known option; did you mean "timeoutMs"?'],
    [{ servers: {} }, 'options.servers: is not a known option; did you mean "mcpServers"?'],
    [{ mcpServers: { a: { comand: "x" } } }, 'did you mean "command" where it says "comand"?'],
    [{ mcpServers: { a: { uri: "https://x.example" } } }, 'did you mean "url" where it says "uri"?'],
    [{ mcpServers: { a: { command: "x", timeout: 3 } } }, 'did you mean "timeoutMs"?'],
  ])("%j", (options, expected) => {
    const message = refusal(options);
    expect(message).toContain(expected);
    expect(message).not.toContain("?.");
  });

  test("a suggestion for a tool or server ends with its question mark only", async () => {
    await using toolport = createToolport({ mcpServers: { files: { command: "x", enabled: false } } });
    const { message } = await failure(toolport.connectServer("fils"));
    expect(message).toContain("Did you mean files? (UNKNOWN_SERVER)");
  });
});

test("the error says to split a command that contains its arguments", async () => {
  await using toolport = createToolport({
    mcpServers: {
      a: { command: "npx -y @scope/pkg" },
      b: { command: "no-such-program-anywhere" },
    },
  });
  const { servers } = await toolport.connect();
  expect(servers["a"]?.error?.message).toContain('Split it: "command": "npx", "args": ["-y","@scope/pkg"]');
  expect(servers["b"]?.error?.message).not.toContain("Split");
});

describe("a header value that cannot be sent", () => {
  test.each([
    ["Bearer …", "has U+2026 (…) at character 8", "put the real value"],
    ["Bearer sk-secret-1234“", "has U+201C (“) at character 22", ""],
    ["Bearer 🔑sk-secret-1234", "has U+1F511 (🔑) at character 8", ""],
    ["Bearer sk-secret\u00011234", "has U+0001 at character 17", ""],
  ])("%j: the error names the character and nothing else", async (value, expected, hint) => {
    let requests = 0;
    const server = createServer((_request, response) => {
      requests += 1;
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    try {
      for (const address of [`http://127.0.0.1:${port}/mcp`, `ws://127.0.0.1:${port}/mcp`]) {
        const headers = { Authorization: value };
        await using toolport = createToolport({ mcpServers: { a: { url: address, headers } } });
        const { error } = (await toolport.connect()).servers["a"]!;
        expect(error).toMatchObject({ code: "INVALID_CONFIG" });
        expect(error?.message).toContain(`headers.Authorization: ${expected}`);
        expect(error?.message).toContain(hint);
        expect(error?.message).not.toContain("secret");
      }
      expect(requests).toBe(0);
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });
});
