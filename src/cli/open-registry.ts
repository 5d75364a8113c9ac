/** Creates the client of a registry: `--registry`, else `TOOLPORT_REGISTRY`, else the official one. */
import { McpRegistryClient } from "../registry/mcp-registry-client.js";
import { type Invocation, textOption } from "./command.js";
import type { CommandContext } from "./command-context.js";

/** Responses are cached in the state file, because registries guarantee no availability. */
export async function openRegistry(
  invocation: Invocation,
  context: CommandContext,
): Promise<McpRegistryClient> {
  const baseUrl = textOption(invocation, "registry") ?? context.env["TOOLPORT_REGISTRY"];
  const { store, statePath } = await context.openStore();
  return new McpRegistryClient({
    cache: statePath === undefined ? true : store,
    ...(baseUrl && { baseUrl }),
    ...(context.timeoutMs !== undefined && { timeoutMs: context.timeoutMs }),
    onWarning: ({ message }) => context.warn(message),
  });
}
