/** Reads suspended calls from the state, without the servers of the configuration. */
import { createToolport } from "../../create-toolport.js";
import { SuspensionError } from "../../errors/suspension-error.js";
import { ToolportError } from "../../errors/toolport-error.js";
import type { Suspended } from "../../execution/suspend/suspension.js";
import type { Toolport } from "../../toolport.js";
import { CliError } from "../cli-error.js";
import type { Invocation } from "../command.js";
import type { CommandContext } from "../command-context.js";
import { principalOf, requireState } from "./suspend-options.js";

/** A port without servers, which can list and discard calls, and send none. */
export async function openWaitingCalls(invocation: Invocation, context: CommandContext): Promise<Toolport> {
  const opened = await context.openStore();
  requireState(opened, invocation);
  const toolport = createToolport({ mcpServers: {}, store: opened.store, restore: false });
  context.onExit(() => toolport.close());
  const principal = principalOf(invocation);
  return principal === undefined ? toolport : toolport.as(principal);
}

/** The call with this token. `call` is undefined if it does not wait: its outcome is unknown. */
export async function findWaiting(
  waiting: Toolport,
  token: string,
  signal: AbortSignal,
): Promise<{ server: string; tool: string; call: Suspended | undefined }> {
  const call = (await waiting.suspended()).find((found) => found.token === token);
  if (call !== undefined) return { server: call.server, tool: call.tool, call };
  // Without servers nothing can be sent. The error names the server of the call, or says that there is no such call.
  const error = await waiting.resume(token, {}, { signal }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  signal.throwIfAborted();
  const isUnknown = error instanceof SuspensionError && error.code === "SUSPENSION_UNKNOWN";
  if (isUnknown || !ToolportError.isInstance(error) || error.server === undefined) throw error;
  return { server: error.server, tool: error.tool ?? "", call: undefined };
}

/** The token of the command line; `-`: from stdin, or typed without echo. */
export async function readToken(invocation: Invocation, context: CommandContext): Promise<string> {
  const [word = ""] = invocation.words;
  if (word !== "-") return word;
  const text = context.isInteractive
    ? await context.ask("Token: ", { isSecret: true })
    : await context.readAllInput();
  const token = (text ?? "").trim();
  if (token !== "") return token;
  throw new CliError({
    message: "No token was given on stdin",
    next: `toolport ${invocation.command.name} --help`,
  });
}
