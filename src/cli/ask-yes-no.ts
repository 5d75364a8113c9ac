/** Asks a question that is answered with yes or no. */
import type { CommandContext } from "./command-context.js";

/** Enter and the end of the input mean no. Asks again after any other answer: a typing error must not decide. */
export async function askYesNo(
  { ask, info }: Pick<CommandContext, "ask" | "info">,
  question: string,
): Promise<boolean> {
  for (;;) {
    const answer = (await ask(`${question} [y/N] `))?.trim().toLowerCase();
    if (answer === "y" || answer === "yes") return true;
    if (answer === undefined || ["", "n", "no"].includes(answer)) return false;
    info("Answer y or n", "yellow");
  }
}
