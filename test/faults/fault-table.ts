/** Reporter of the fault suite: one line for each id, with the fault, the cases that passed, and their duration. */
import type { Reporter, TestCase, TestModule } from "vitest/node";
import { type CaseId, DUTIES, describeCase, FAULTS } from "./catalogue.js";

interface Row {
  passed: number;
  failed: number;
  skipped: number;
  ms: number;
}

export default class FaultTable implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const rows = new Map<string, Row>();
    for (const module of modules) for (const one of module.children.allTests()) count(rows, one);
    const ids = [...Object.keys(FAULTS), ...Object.keys(DUTIES)] as CaseId[];
    const lines = ids.filter((id) => rows.has(id)).map((id) => line(id, rows.get(id) as Row));
    const held = ids.filter((id) => (rows.get(id)?.failed ?? 0) === 0 && (rows.get(id)?.passed ?? 0) > 0);
    console.log(`\nid    held  seconds  what\n${lines.join("\n")}`);
    console.log(`\n${held.length} of ${ids.length} rows hold (${rows.size} were run).`);
  }
}

function count(rows: Map<string, Row>, test: TestCase): void {
  const id = /^[A-Z]\d+(?= )/.exec(test.name)?.[0];
  if (id === undefined) return;
  const row = rows.get(id) ?? { passed: 0, failed: 0, skipped: 0, ms: 0 };
  rows.set(id, row);
  const { state } = test.result();
  if (state !== "pending") row[state] += 1;
  row.ms += test.diagnostic()?.duration ?? 0;
}

function line(id: CaseId, { passed, failed, skipped, ms }: Row): string {
  const verdict = failed > 0 ? "FAIL" : passed > 0 ? "yes" : "skip";
  const cases = `${passed}/${passed + failed + skipped}`;
  return `${id.padEnd(5)} ${verdict.padEnd(5)} ${(ms / 1000).toFixed(1).padStart(6)}  ${cases.padStart(5)}  ${describeCase(id)}`;
}
