/** `toolport doctor`: looks for everything that can be wrong, and ends with what to do. */
import type { Colour } from "../colours.js";
import type { CommandModule } from "../command.js";
import type { Finding, FindingStatus } from "../doctor/finding.js";
import { runDoctor } from "../doctor/run-doctor.js";
import { EXIT } from "../exit-codes.js";
import { plainLine, plainText } from "../plain-text.js";
import type { Shell } from "../shell.js";

const MARKS: Readonly<Record<FindingStatus, readonly [mark: string, colour: Colour]>> = {
  ok: ["✔", "green"],
  warn: ["!", "yellow"],
  fail: ["✘", "red"],
  skip: ["-", "dim"],
};

export const run: CommandModule["run"] = async (invocation, shell) => {
  const { findings, refusal } = await runDoctor(shell, invocation.words[0]);
  const failed = findings.filter(({ status }) => status === "fail");
  const exitCode = Math.max(EXIT.ok, ...failed.map((finding) => finding.exitCode ?? EXIT.other));
  const next = adviceOf(findings);
  if (shell.form === "json") {
    const checks = findings.map(({ exitCode: _code, ...finding }) => finding);
    shell.printJson({ ok: failed.length === 0, summary: countOf(findings), checks, next });
    if (refusal !== undefined) throw refusal;
    return exitCode;
  }
  for (const [server, group] of byServer(findings)) {
    shell.printPainted([
      shell.paint("bold", plainLine(server ?? "This machine")),
      ...group.flatMap((finding) => linesOf(finding, shell)),
      "",
    ]);
  }
  const { ok, warn, fail, skip } = countOf(findings);
  shell.print(`${ok} fine, ${warn} to look at, ${fail} wrong, ${skip} not checked`);
  if (next.length === 0) shell.print("Nothing needs to be done.");
  else
    shell.print(
      ["What to do:", ...next.map((step, index) => `  ${index + 1}. ${plainLine(step)}`)].join("\n"),
    );
  // Without a terminal the question was not asked. What else is wrong matters less than what was not looked at.
  if (refusal !== undefined && !shell.isInteractive) throw refusal;
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

function linesOf({ check, status, message, next }: Finding, { paint }: Shell): string[] {
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

/** What failed comes first; nothing is said twice. */
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
