/** `toolport doctor`: checks files, servers, logins and state, and prints what to do. */
import type { Colour } from "../colours.js";
import type { RunCommand } from "../command.js";
import type { CommandContext } from "../command-context.js";
import type { Finding, FindingStatus } from "../doctor/finding.js";
import { runDoctor } from "../doctor/run-doctor.js";
import { EXIT } from "../exit-codes.js";
import { plainLine, plainText, plural } from "../plain-text.js";

const MARKS: Readonly<Record<FindingStatus, readonly [mark: string, colour: Colour]>> = {
  ok: ["✔", "green"],
  warn: ["!", "yellow"],
  fail: ["✘", "red"],
  skip: ["-", "dim"],
};

export const doctorCommand: RunCommand = async (invocation, context) => {
  const { findings, consentError } = await runDoctor(context, invocation.words[0]);
  const failed = findings.filter(({ status }) => status === "fail");
  const exitCode = Math.max(EXIT.ok, ...failed.map((finding) => finding.exitCode ?? EXIT.other));
  const next = adviceOf(findings);
  if (context.form === "json") {
    const checks = findings.map(({ exitCode: _code, ...finding }) => finding);
    context.printJson({ ok: failed.length === 0, summary: countOf(findings), checks, next });
    if (consentError !== undefined) throw consentError;
    return exitCode;
  }
  for (const [server, group] of byServer(findings)) {
    context.printPainted([
      context.paint("bold", plainLine(server ?? "This machine")),
      ...group.flatMap((finding) => linesOf(finding, context)),
      "",
    ]);
  }
  const { ok, warn, fail, skip } = countOf(findings);
  context.print(`${ok} passed, ${plural(warn, "warning")}, ${fail} failed, ${skip} skipped`);
  if (next.length === 0) context.print("No action needed.");
  else
    context.print(
      ["What to do:", ...next.map((step, index) => `  ${index + 1}. ${plainLine(step)}`)].join("\n"),
    );
  // Without a terminal the user was not asked: report the missing consent first.
  if (consentError !== undefined && !context.isInteractive) throw consentError;
  return exitCode;
};

function byServer(findings: readonly Finding[]): Map<string | undefined, Finding[]> {
  const groups = new Map<string | undefined, Finding[]>();
  for (const finding of findings) {
    const group = groups.get(finding.server) ?? [];
    group.push(finding);
    groups.set(finding.server, group);
  }
  return groups;
}

function linesOf({ check, status, message, next }: Finding, { paint }: CommandContext): string[] {
  const [mark, colour] = MARKS[status];
  const [first = "", ...rest] = plainText(message).split("\n");
  return [
    `  ${paint(colour, mark)} ${check.padEnd(8)} ${first}`,
    ...rest.map((line) => `             ${line}`),
    ...(next === undefined || status === "ok" ? [] : [paint("dim", `             → ${plainLine(next)}`)]),
  ];
}

const countOf = (findings: readonly Finding[]): Record<FindingStatus, number> => {
  const count = { ok: 0, warn: 0, fail: 0, skip: 0 };
  for (const { status } of findings) count[status] += 1;
  return count;
};

/** Advice without duplicates, failures first. */
function adviceOf(findings: readonly Finding[]): string[] {
  const steps = (["fail", "warn"] as const).flatMap((wanted) =>
    findings.flatMap(({ status, server, next, message }) => {
      if (status !== wanted || next === undefined) return [];
      const [about = ""] = message.split("\n");
      return [`${server === undefined ? "" : `${server}: `}${next} (${about})`];
    }),
  );
  return [...new Set(steps)];
}
