/** `toolport suspended` and `toolport discard`: list and give up calls that wait for a person. */
import type { RunCommand } from "../command.js";
import { EXIT } from "../exit-codes.js";
import { listSuspended } from "../suspend/show-suspended.js";
import { openWaitingCalls, readToken } from "../suspend/waiting-calls.js";

export const suspendedCommand: RunCommand = async (invocation, context) => {
  const waiting = await openWaitingCalls(invocation, context);
  listSuspended(await waiting.suspended(), { invocation, context });
  return EXIT.ok;
};

export const discardCommand: RunCommand = async (invocation, context) => {
  const waiting = await openWaitingCalls(invocation, context);
  await waiting.discard(await readToken(invocation, context), { answeredBy: "cli" });
  if (context.form === "json") context.printJson({ discarded: true });
  else context.info("The call was discarded; nothing was sent", "green");
  return EXIT.ok;
};
