/** LangChain.js MCP adapters: the options of `MultiServerMCPClient` in a file. */
import { ENTRY_KEYS } from "../../config/entry-options.js";
import type { Dialect, FieldNote } from "./dialect.js";
import { EntryFields } from "./entry-fields.js";
import { moveAddress, moveEnabled, moveProcess, moveTimeout, moveType } from "./shared-fields.js";

/** Options of the client beside the servers. */
const CLIENT_OPTIONS = [
  ...["throwOnLoadError", "prefixToolNameWithServerName", "additionalToolNamePrefix"],
  ...["useStandardContentBlocks", "onConnectionError", "outputHandling", "defaultToolTimeout"],
];

export const langchain: Dialect = {
  kind: "langchain",
  title: "LangChain",
  containers: [["mcpServers"]],
  entryMarkers: ["defaultToolTimeout", "outputHandling", "automaticSSEFallback"],
  rootMarkers: CLIENT_OPTIONS,
  readEntry: (raw) => {
    const fields = new EntryFields(raw);
    moveType(fields);
    moveProcess(fields);
    moveAddress(fields, ["url"]);
    moveEnabled(fields);
    moveTimeout(fields, "defaultToolTimeout", 1);
    for (const key of fields.names) if (ENTRY_KEYS.includes(key)) fields.move(key);
    return fields.finish({
      title: "LangChain",
      unsupported: {
        outputHandling:
          "is an option of LangChain; pass it to the MultiServerMCPClient of toolport/langchain",
      },
    });
  },
  readRoot: (root): FieldNote[] =>
    CLIENT_OPTIONS.filter((key) => Object.hasOwn(root, key)).map((key) => ({
      path: [key],
      message: "is an option of the client, not of a server; pass it to the MultiServerMCPClient in code",
    })),
};
