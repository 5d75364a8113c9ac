/** A small MCP server over stdio: notes in memory. Your own server would use an MCP SDK; `toolport/testing` needs fewer lines. */
import { createTestServer } from "toolport/testing";

/** @type {string[]} */
const notes = [];
const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };

await createTestServer({
  name: "notes",
  tools: {
    // A client that trusts this server may call it without asking.
    list: {
      description: "Lists all notes",
      annotations: { readOnlyHint: true },
      handler: () => (notes.length === 0 ? "There are no notes." : notes.join("\n")),
    },
    add: {
      description: "Adds a note",
      inputSchema: text,
      handler: (args) => `Noted. Notes in all: ${notes.push(String(args.text))}`,
    },
    upload: {
      description: "Uploads all notes to a slow place",
      handler: async (_args, { signal, progress }) => {
        await progress(1, 100, "connected to the slow place");
        // Never finishes: cancel it with Ctrl-C.
        return new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new Error("The upload was cancelled.")));
        });
      },
    },
  },
}).serveStdio();
