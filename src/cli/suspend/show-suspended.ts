/** Prints calls that wait for a person. */
import type { Suspended, SuspendedForLogin } from "../../execution/suspend/suspension.js";
import type { FormElicitation } from "../../protocol/server-requests/elicitation-request.js";
import { type Invocation, locationOptions } from "../command.js";
import type { CommandContext } from "../command-context.js";
import { describePage } from "../elicit-on-terminal.js";
import { EXIT } from "../exit-codes.js";
import { shellWord } from "../next-command.js";
import { oneLine, plainLine } from "../plain-text.js";
import { printRows } from "../print-rows.js";
import { principalOf } from "./suspend-options.js";

const WAITS_FOR = { input: "an answer", approval: "an approval", login: "a login" } as const;
const MAX_SHOWN = 60;

interface Place {
  readonly invocation: Invocation;
  readonly context: CommandContext;
}

/** Prints a call that waits, with its token. Returns the exit code. */
export function showSuspended(call: Suspended, { invocation, context }: Place): number {
  const principal = principalOf(invocation);
  if (context.form === "json") context.printJson(toDocument(call, principal));
  else if (context.form === "raw") context.print(call.token);
  else {
    const words = [
      ...(principal === undefined ? [] : ["--principal", principal]),
      ...locationOptions(invocation),
    ];
    const options = words.map((word) => ` ${shellWord(word)}`).join("");
    context.print(
      [
        ...describeCall(call, principal),
        ...describeQuestions(call, principal),
        `Token: ${call.token}`,
        `Resume it: toolport resume ${call.token}${options}`,
      ].join("\n"),
    );
  }
  return EXIT.suspended;
}

/** The JSON form of a call that waits. */
const toDocument = (call: Suspended, principal: string | undefined) => ({
  ...call,
  ...(principal !== undefined && { principal }),
});

/** What waits, for whom and until when; each line is escaped. */
export const describeCall = (call: Suspended, principal: string | undefined): string[] => [
  `${plainLine(call.tool)} waits for ${WAITS_FOR[call.reason]}${principal === undefined ? "" : ` of ${plainLine(principal)}`}`,
  `  Server: ${plainLine(call.server)}`,
  `  Arguments: ${plainLine(JSON.stringify(call.args))}`,
  `  Expires: ${call.expiresAt} (the server may expire it earlier)`,
];

/** What the person is asked; each line is escaped. */
function describeQuestions(call: Suspended, principal: string | undefined): string[] {
  switch (call.reason) {
    case "approval":
      return ["  Asked: may it be called?"];
    case "login":
      return describeLogin(call, principal);
    default:
      return Object.entries(call.requests).flatMap(([key, request]) => [
        `  Asked (${plainLine(key)}): ${plainLine(request.message)}`,
        ...(request.mode === "url" ? describePage(request) : describeFields(request)).map(
          (line) => `    ${plainLine(line)}`,
        ),
      ]);
  }
}

function describeFields({ requestedSchema: { properties, required = [] } }: FormElicitation): string[] {
  return Object.entries(properties).map(
    ([name, { type }]) => `${name}: ${type}, ${required.includes(name) ? "required" : "optional"}`,
  );
}

/** Where the user can log in; each line is escaped. */
export const describeLogin = (
  { server, requests: { authUrl } }: SuspendedForLogin,
  principal: string | undefined,
): string[] => [
  `  Log in with: toolport auth ${shellWord(server)}${principal === undefined ? "" : ` --principal ${shellWord(principal)}`}`,
  ...(authUrl === undefined ? [] : [`  Or at: ${plainLine(authUrl)}`]),
];

/** Prints all calls that wait. */
export function listSuspended(calls: readonly Suspended[], { invocation, context }: Place): void {
  const principal = principalOf(invocation);
  if (context.form === "json") {
    context.printJson({
      ...(principal !== undefined && { principal }),
      suspended: calls.map((call) => toDocument(call, undefined)),
    });
    return;
  }
  if (context.form === "raw")
    return void (calls.length > 0 && context.print(calls.map(({ token }) => token).join("\n")));
  context.info(
    `${calls.length === 0 ? "No calls wait" : "Calls that wait"}${principal === undefined ? "" : ` for ${principal}`}`,
    "dim",
  );
  if (calls.length === 0) return;
  printRows(
    context,
    ["TOOL", "SERVER", "WAITS FOR", "ARGUMENTS", "EXPIRES", "TOKEN"],
    calls.map((call) => [
      ...[call.tool, call.server, WAITS_FOR[call.reason]],
      ...[oneLine(JSON.stringify(call.args), MAX_SHOWN), call.expiresAt, call.token],
    ]),
  );
}
