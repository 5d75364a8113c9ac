/**
 * Queries the registry for known advisories on everything in the lock file and applies the rule in SECURITY.md: none in packages that
 * users install, none of level high or critical in packages that only this repository uses.
 *
 * An advisory that does not affect us is accepted in `accepted-advisories.json`, with a reason and an expiry
 * date: `{ "id": "GHSA-…", "reason": "…", "until": "2027-01-31" }`. If the registry cannot be queried, the script reports it and
 * passes; with `--required` (before a release) it fails.
 */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

const GRAVE = ["high", "critical"];

/** The advisories of a report of `npm audit --json`, one entry for each advisory and package. */
export function readAdvisories({ vulnerabilities }) {
  const found = new Map();
  for (const via of Object.values(vulnerabilities).flatMap((vulnerability) => vulnerability.via)) {
    // A string means that the package depends on another package with an advisory.
    if (typeof via === "string") continue;
    const id = via.url?.split("/").at(-1) ?? String(via.source);
    found.set(`${id} ${via.name}`, { id, package: via.name, severity: via.severity, title: via.title });
  }
  return [...found.values()];
}

/** Problems that block a release, and notes. `today` is a date as in the list of accepted advisories. */
export function judgeAdvisories({ production, everything, accepted, today }) {
  const shipped = new Set(production.map(({ id }) => id));
  const known = new Map(accepted.map((entry) => [entry.id, entry]));
  const failures = [];
  const notes = [];
  for (const advisory of everything) {
    const isShipped = shipped.has(advisory.id);
    const text = `${advisory.id} (${advisory.severity}) ${advisory.package}, ${isShipped ? "production" : "development"}: ${advisory.title}`;
    const entry = known.get(advisory.id);
    if (entry !== undefined && entry.until >= today)
      notes.push(`${text}; accepted until ${entry.until}: ${entry.reason}`);
    else if (entry !== undefined)
      failures.push(`${text}; was accepted until ${entry.until}, look at it again`);
    else if (isShipped || GRAVE.includes(advisory.severity)) failures.push(text);
    else notes.push(text);
  }
  const reported = new Set(everything.map(({ id }) => id));
  for (const { id } of accepted)
    if (!reported.has(id)) notes.push(`${id} is accepted, but no longer reported: remove it from the list`);
  return { failures, notes };
}

/** Checks that every entry has an id, a reason and a date. */
export function readAccepted(text) {
  const accepted = JSON.parse(text);
  for (const entry of accepted) {
    const { id, reason, until } = entry;
    if (!id || !reason || !/^\d{4}-\d\d-\d\d$/.test(until))
      throw new Error(
        `An accepted advisory needs "id", "reason" and "until" (a date): ${JSON.stringify(entry)}`,
      );
  }
  return accepted;
}

/** A report, or the reason why there is none. `npm audit` exits with 1 for advisories and for failures; only its output differs. */
function ask(...options) {
  const args = [
    "audit",
    "--json",
    "--package-lock-only",
    "--fetch-retries=1",
    "--fetch-timeout=30000",
    ...options,
  ];
  return new Promise((resolve) => {
    execFile("npm", args, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout) => {
      let report;
      try {
        report = JSON.parse(stdout);
      } catch {
        return resolve({ problem: error?.code === "ENOENT" ? "npm was not found" : "npm gave no report" });
      }
      if (report.vulnerabilities !== undefined) return resolve({ report });
      const { statusCode, message, error: details } = report;
      const why = statusCode ?? details?.code ?? message ?? "no reason given";
      resolve({
        problem: [404, 405].includes(statusCode)
          ? `it has no list of advisories (${statusCode})`
          : String(why),
      });
    });
  });
}

async function run() {
  const { values } = parseArgs({ options: { required: { type: "boolean" }, accepted: { type: "string" } } });
  const list = values.accepted ?? new URL("accepted-advisories.json", import.meta.url);
  const accepted = readAccepted(readFileSync(list, "utf8"));
  const asked = await Promise.all([ask("--omit=dev"), ask()]);
  const problem = asked.find((answer) => answer.problem !== undefined)?.problem;
  if (problem !== undefined) {
    console.warn(`Advisories were NOT checked: the registry could not be asked, ${problem}.`);
    console.warn(
      "Run `npm run audit` where the public registry can be reached, at the latest before a release.",
    );
    return values.required ? 1 : 0;
  }
  const [production, everything] = asked.map(({ report }) => readAdvisories(report));
  const today = new Date().toISOString().slice(0, 10);
  const { failures, notes } = judgeAdvisories({ production, everything, accepted, today });
  for (const note of notes) console.log(`note  ${note}`);
  for (const failure of failures) console.error(`FAIL  ${failure}`);
  console.log(`Advisories: ${everything.length}. Against the rule in SECURITY.md: ${failures.length}.`);
  return failures.length > 0 ? 1 : 0;
}

if (import.meta.filename === process.argv[1]) process.exitCode = await run();
