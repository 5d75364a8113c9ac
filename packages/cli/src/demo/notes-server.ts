/** A real MCP server over stdio. The demo spawns this file and kills it. */
import { openTestServer } from "@toolport/testing/internal";

const notes: string[] = [];

const server = openTestServer(
  {
    name: "notes",
    tools: {
      add_note: {
        description: "Keeps a note for as long as this process lives",
        inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
        handler: ({ text }) => `Note ${notes.push(String(text))} is kept`,
      },
      process_id: {
        description: "Returns the id of the process",
        annotations: { readOnlyHint: true },
        handler: () => String(process.pid),
      },
    },
  },
  () => import("./server-sdk.js"),
);
await server.serveStdio();
