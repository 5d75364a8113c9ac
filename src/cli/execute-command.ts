/** Runs one parsed command until it ends or is interrupted, and closes what it opened. */
import { hasTyped, type Invocation } from "./command.js";
import type { ContextParts } from "./create-command-context.js";

/** @throws the error of the command, or the reason of the signal */
export async function executeCommand(invocation: Invocation, parts: ContextParts): Promise<number> {
  const { signal } = parts.watch;
  const [{ createCommandContext }, runCommand] = await Promise.all([
    import("./create-command-context.js"),
    invocation.command.load(),
  ]);
  const { context, close } = createCommandContext(invocation, parts);
  const interrupted = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  // A command that ignores the signal is abandoned: everything it uses is closed below.
  const running = runCommand(context);
  running.catch(() => {});
  try {
    return await Promise.race([running, interrupted]);
  } catch (error) {
    // After an interruption, other errors are its consequences.
    throw signal.aborted ? signal.reason : error;
  } finally {
    interrupted.catch(() => {});
    await close();
  }
}

/** Replaces servers that the user typed by names that stand for them. */
export async function readTypedServers(invocation: Invocation, cwd: string): Promise<Invocation> {
  if (!hasTyped(invocation)) return invocation;
  const { nameTypedServers } = await import("./typed-servers.js");
  return nameTypedServers(invocation, cwd);
}
