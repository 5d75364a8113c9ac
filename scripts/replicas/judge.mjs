/** Decides whether a run kept its promises. */

/** A call that a killed replica had fails within this time. */
const LATEST_MS = 6_000;

/**
 * @param calls by id: `{ startedAt, lastSentAt, endedAt, error, touched }`; `touched` are the replicas that got its requests
 * @returns figures, the failures that kills explain, and a list of what was wrong
 */
export function judge({ calls, upstream, wrong }) {
  const problems = {
    crossings: [...upstream.crossings, ...wrong],
    twice: [],
    unexplained: [],
    late: [],
    "not run": [],
  };
  const failures = [];
  const times = [];
  for (const [id, call] of calls) {
    const stages = upstream.calls[id] ?? [];
    if (new Set(stages).size !== stages.length) problems.twice.push(`${id} (${stages.join(", ")})`);
    if (call.error !== undefined) {
      const ms = sinceKill(call);
      const what = `${id}: ${call.error.message}`;
      if (ms === undefined) problems.unexplained.push(what);
      else failures.push({ ms, message: call.error.message });
      if (ms > LATEST_MS) problems.late.push(`${what} (${Math.round(ms)} ms)`);
    } else if (!stages.includes("run")) problems["not run"].push(id);
    else if (!stages.includes("ask")) times.push(call.endedAt - call.startedAt);
  }
  return {
    figures: { ...count({ calls, upstream, failures, times }), ...sizes(problems) },
    failures,
    problems,
  };
}

/** How long after the end of a replica the call failed; undefined if no replica that had it was killed. */
function sinceKill({ touched, lastSentAt, endedAt }) {
  // A process that is being killed may still accept a connection.
  const kills = [...touched].map(({ killedAt }) => killedAt).filter((killedAt) => killedAt <= endedAt);
  return kills.length === 0 ? undefined : endedAt - Math.max(lastSentAt, Math.min(...kills));
}

function count({ calls, upstream, failures, times }) {
  const stages = Object.values(upstream.calls);
  times.sort((a, b) => a - b);
  const share = (part) => Math.round(times[Math.floor(times.length * part)] ?? 0);
  return {
    calls: calls.size,
    asked: stages.filter((each) => each.includes("ask")).length,
    ran: stages.filter((each) => each.includes("run")).length,
    failures: failures.length,
    latestFailureMs: Math.round(Math.max(0, ...failures.map(({ ms }) => ms))),
    p50Ms: share(0.5),
    p99Ms: share(0.99),
  };
}

const sizes = (problems) =>
  Object.fromEntries(Object.entries(problems).map(([kind, list]) => [kind, list.length]));
