/** A port to a server whose results are too large for a model. */
import { createToolport, type ToolportOptions } from "toolport";
import { createTestServer } from "toolport/testing";

/** Indented, as many servers send it. */
export const ISSUES: string = JSON.stringify(
  {
    total_count: 1_500,
    items: Array.from({ length: 1_500 }, (_, number) => ({
      number,
      title: `Issue ${number}: the button does nothing`,
      state: number % 3 === 0 ? "open" : "closed",
      user: { login: `user${number % 7}`, id: 10_000 + number },
      labels: [{ name: "bug" }, { name: `p${number % 3}` }],
      body: "It happens every time the page is opened for the second time, in every browser. ".repeat(5),
    })),
  },
  null,
  2,
);

export const IMAGE: string = Buffer.alloc(300_000, 7).toString("base64");

const text = (value: string) => ({ type: "text" as const, text: value });

export function openLargeResults(options: ToolportOptions = {}) {
  const server = createTestServer({
    tools: {
      list_issues: { handler: () => ISSUES },
      fail: { handler: () => ({ content: [text(ISSUES)], isError: true }) },
      log: {
        handler: () => Array.from({ length: 30_000 }, (_, line) => `${line} something happened`).join("\n"),
      },
      small: { handler: () => "small" },
      structured: { handler: () => ({ structuredContent: JSON.parse(ISSUES) as Record<string, unknown> }) },
      mixed: {
        handler: () => ({
          content: [
            text("Here are the issues:"),
            { type: "image", data: PNG, mimeType: "image/png" },
            text(ISSUES),
            {
              type: "resource",
              resource: { uri: "file:///a.pdf", mimeType: "application/pdf", blob: IMAGE },
            },
          ],
        }),
      },
      rows: {
        handler: () => ({
          content: Array.from({ length: 5_000 }, (_, row) => text(`{"row":${row},"name":"Ada ${row}"}`)),
        }),
      },
      links: {
        handler: () => ({
          content: Array.from({ length: 5_000 }, (_, index) => ({
            type: "resource_link" as const,
            uri: `https://example.com/a/rather/long/path/${index}`,
            name: `link ${index}`,
          })),
        }),
      },
    },
  });
  const toolport = createToolport({ mcpServers: { github: server.memory() }, ...options });
  return {
    toolport,
    server,
    async [Symbol.asyncDispose]() {
      await toolport.close();
      await server.close();
    },
  };
}

/** One pixel. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
