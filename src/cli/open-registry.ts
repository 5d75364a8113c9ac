/** The registry a command asks: the one that was named, or the official one. */
import { McpRegistryClient } from "../registry/mcp-registry-client.js";
import { type Invocation, textOption } from "./command.js";
import type { Shell } from "./shell.js";

/** Answers are kept with the rest of the state: a registry promises nobody to be there. */
export async function openRegistry(invocation: Invocation, shell: Shell): Promise<McpRegistryClient> {
  const baseUrl = textOption(invocation, "registry") ?? shell.env["TOOLPORT_REGISTRY"];
  const { store, statePath } = await shell.openStore();
  return new McpRegistryClient({
    cache: statePath === undefined ? true : store,
    ...(baseUrl && { baseUrl }),
    ...(shell.timeoutMs !== undefined && { timeoutMs: shell.timeoutMs }),
    onWarning: ({ message }) => shell.warn(message),
  });
}
