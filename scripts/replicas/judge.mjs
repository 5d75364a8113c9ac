/** Decides whether a run kept its promises. */

/** A call that a killed replica had fails within this time. */
const LATEST_MS = 6_000;

/**
 * @param calls by id: `{ startedAt, lastSentAt, endedAt, error, touched }`; `touched` are the replicas that got its requests
 * @returns figures, and a list of what was wrong
 */
export function judge({ calls, upstream, wrong }) {
  const problems = [...upstream.crossings, ...wrong].map((what) => `crossing: ${what}`);
  const failures = [];
  let asked = 0;
  for (const [id, call] of calls) {
    const stages = upstream.calls[id] ?? [];
    if (stages.includes("ask")) asked += 1;
    if (new Set(stages).size !== stages.length) problems.push(`run twice: ${id} (${stages.join(", ")})`);
    if (call.error === undefined) {
      if (!stages.includes("run")) problems.push(`not run: ${id} has a result`);
      continue;
    }
    const killed = [...call.touched].filter(
      ({ killedAt }) => killedAt >= call.startedAt && killedAt <= call.endedAt,
    );
    if (killed.length === 0) {
      problems.push(`unexplained failure: ${id}, without a killed replica: ${call.error.message}`);
      continue;
    }
    const begin = Math.max(call.lastSentAt, Math.min(...killed.map(({ killedAt }) => killedAt)));
    const ms = call.endedAt - begin;
    failures.push({ ms, message: call.error.message });
    if (ms > LATEST_MS)
      problems.push(`late: ${id} failed ${Math.round(ms)} ms after the kill: ${call.error.message}`);
  }
  const ran = Object.values(upstream.calls).filter((stages) => stages.includes("run")).length;
  const latest = Math.max(0, ...failures.map(({ ms }) => ms));
  const crossings = upstream.crossings.length + wrong.length;
  const twice = problems.filter((problem) => problem.startsWith("run twice")).length;
  const unexplained = problems.filter((problem) => problem.startsWith("unexplained")).length;
  return {
    figures: {
      calls: calls.size,
      asked,
      ran,
      failures: failures.length,
      latest,
      crossings,
      twice,
      unexplained,
    },
    failures,
    problems,
  };
}
