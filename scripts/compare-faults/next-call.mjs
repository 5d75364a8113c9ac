/** The call after a fault, with the tool that was obtained before it. */
import { describe, seconds } from "./stage.mjs";

export async function nextCall(stage, handle) {
  const call = () => stage.settled(handle.call("it", "echo", { text: "next" }));
  const { error, isLate, ms } = await call();
  if (isLate) return { survived: false, fact: `no answer > ${seconds(stage.capMs)}` };
  if (error === undefined) return { survived: true, fact: `next call answered in ${seconds(ms)}` };
  const listed = handle.listAgain && (await stage.settled(handle.listAgain()));
  const again = listed && !listed.error && !listed.isLate ? await call() : undefined;
  const works = again !== undefined && again.error === undefined && !again.isLate;
  return {
    survived: false,
    fact: `next call: ${describe(error)}${works ? "; works with tools got anew" : ""}`,
  };
}
