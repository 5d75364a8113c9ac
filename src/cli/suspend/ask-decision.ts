/** Asks the person at the terminal what a suspended call waits for. */
import type { ResumeInput, Suspended } from "../../execution/suspend/suspension.js";
import type { ElicitationAnswer } from "../../protocol/server-requests/elicitation.js";
import type { ElicitationRequest } from "../../protocol/server-requests/elicitation-request.js";
import { askForm } from "../ask-form.js";
import type { CommandContext } from "../command-context.js";
import { describePage } from "../elicit-on-terminal.js";
import { plainBlock } from "../plain-text.js";
import { describeCall, describeLogin } from "./show-suspended.js";

type Terminal = Pick<CommandContext, "ask" | "info">;

/** Undefined if the person wants to decide later: Enter, or Ctrl-D. */
export async function askDecision(
  context: Terminal,
  call: Suspended,
  principal: string | undefined,
): Promise<Pick<ResumeInput, "answers" | "approve"> | undefined> {
  context.info(describeCall(call, principal), "yellow");
  switch (call.reason) {
    case "approval": {
      const choice = await choose(context, "Approve? [y = yes, n = no, Enter = later] ", ["y", "n"]);
      return choice === undefined ? undefined : { approve: choice === "y" };
    }
    case "login": {
      context.info(describeLogin(call, principal));
      const choice = await choose(context, "Have you logged in? [y = continue, Enter = later] ", ["y"]);
      return choice === undefined ? undefined : {};
    }
    default: {
      const answers: [string, ElicitationAnswer][] = [];
      for (const [key, request] of Object.entries(call.requests)) {
        const answer = await askAnswer(context, call.server, request);
        if (answer === undefined) return undefined;
        answers.push([key, answer]);
      }
      return { answers: Object.fromEntries(answers) };
    }
  }
}

async function askAnswer(
  context: Terminal,
  server: string,
  request: ElicitationRequest,
): Promise<ElicitationAnswer | undefined> {
  context.info(plainBlock(`${server} asks: ${request.message}`).split("\n"), "yellow");
  const isPage = request.mode === "url";
  if (isPage) context.info(describePage(request));
  const question = isPage ? "Have you opened it? [y = yes," : "Answer? [y = fill in,";
  const choice = await choose(context, `${question} n = decline, c = cancel, Enter = later] `, [
    ...["y", "n", "c"],
  ]);
  if (choice === undefined) return undefined;
  if (choice !== "y") return { action: choice === "n" ? "decline" : "cancel" };
  if (isPage) return { action: "accept" };
  const content = await askForm(context, request.requestedSchema);
  return content && { action: "accept", content };
}

/** The first letter of the answer; asks again until it is one of the letters. Undefined for Enter and Ctrl-D. */
async function choose(
  { ask }: Terminal,
  question: string,
  letters: readonly string[],
): Promise<string | undefined> {
  for (;;) {
    const letter = (await ask(question))?.trim().slice(0, 1).toLowerCase();
    if (letter === undefined || letter === "") return undefined;
    if (letters.includes(letter)) return letter;
  }
}
