/**
 * Replicas under fire: `npm run replicas [-- --write] [-- --store redis,postgres] [-- --calls 1000 --seconds 30]`.
 *
 * Three replicas of the gateway behind a balancer without stickiness; one is killed with -9 every 2 s for 2 minutes. Meanwhile 50 users with
 * clients of both eras make 10,000 calls to servers of both eras, a tenth of which ask their user something. No call may reach
 * another user, run twice, or fail unless a replica that had it was killed; and such a call fails within 6 s. Uses the built package;
 * `--write` writes the table into docs/reliability.md.
 */
import { randomBytes } from "node:crypto";
import { availableParallelism } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startBalancer } from "./replicas/balancer.mjs";
import { connectClient } from "./replicas/clients.mjs";
import { startFleet, startUpstreams } from "./replicas/fleet.mjs";
import { judge } from "./replicas/judge.mjs";
import { replicaTable } from "./replicas/replica-table.mjs";
import { startService } from "./replicas/services.mjs";
import { logInAll } from "./replicas/shared-state.mjs";
import { writeSection } from "./write-section.mjs";

const REPLICAS = 3;
const ERAS = ["legacy", "modern"];
/** One call of this many asks its user something. */
const ASK_EVERY = 10;
/** Problems of one kind that are printed. */
const SHOWN = 20;

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "redis,postgres" },
    calls: { type: "string", default: "10000" },
    seconds: { type: "string", default: "120" },
    users: { type: "string", default: "50" },
    write: { type: "boolean", default: false },
    "kill-every": { type: "string", default: "2000" },
  },
});
const plan = {
  calls: Number(values.calls),
  durationMs: Number(values.seconds) * 1_000,
  users: Array.from({ length: Number(values.users) }, (_, index) => `u${index}`),
  killEveryMs: Number(values["kill-every"]),
};
process.env.TOOLPORT_STORE_KEY ??= randomBytes(32).toString("base64");

const rows = [];
for (const kind of values.store.split(",")) {
  const { figures, failures, problems } = await run(kind);
  rows.push({ kind, ...figures });
  console.log(`${kind}: ${JSON.stringify(figures)}`);
  for (const [reason, count] of countBy(failures.map(({ message }) => message)))
    console.log(`  ${count} × ${reason}`);
  for (const [problem, list] of Object.entries(problems)) {
    for (const what of list.slice(0, SHOWN)) console.error(`  ${problem}: ${what}`);
    if (list.length > 0) process.exitCode = 1;
  }
}
const text = `Node ${process.versions.node}, ${availableParallelism()} cores, everything on the same machine.\n\n${replicaTable(rows)}`;
console.log(text);
if (values.write && process.exitCode !== 1) writeSection("replicas", text);

function countBy(texts) {
  const counts = new Map();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}

async function run(kind) {
  const ends = [];
  const keep = (thing) => {
    ends.unshift(thing);
    return thing;
  };
  try {
    const service = keep(await startService(kind));
    const upstreams = keep(await startUpstreams());
    const shared = { servers: upstreams.servers, store: service.place };
    await logInAll({ ...shared, users: plan.users });
    const fleet = keep(await startFleet(REPLICAS, shared));
    const calls = new Map();
    const touch = (id, replica) => {
      const call = calls.get(id);
      if (call === undefined) return;
      call.touched.add(replica);
      call.lastSentAt = performance.now();
    };
    const balancer = keep(await startBalancer(fleet.replicas, touch));
    const wrong = [];
    const clients = await connectAll(balancer.port, wrong);
    const killing = new AbortController();
    const killer = killUntil(fleet, killing.signal);
    await makeCalls(clients, calls, wrong);
    killing.abort();
    await killer;
    const result = judge({ calls, upstream: await upstreams.report(), wrong });
    Object.assign(result.figures, { kills: fleet.kills, slowestStartMs: Math.round(fleet.startMs) });
    return result;
  } finally {
    for (const thing of ends) await thing.close();
  }
}

function connectAll(port, wrong) {
  const report = (what) => wrong.push(what);
  return Promise.all(
    plan.users.map(async (user, index) => ({
      user,
      callTool: await connectClient({ era: ERAS[index % 2], port, user, wrong: report }),
    })),
  );
}

/** One replica after the other; at most one is starting. */
async function killUntil(fleet, signal) {
  while (!signal.aborted) {
    const nextAt = performance.now() + plan.killEveryMs;
    await delay(plan.killEveryMs / 2, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    await fleet.killNext();
    await delay(Math.max(0, nextAt - performance.now()), undefined, { signal }).catch(() => {});
  }
}

/** Begins the calls at a steady rate, whether earlier ones have ended or not. */
async function makeCalls(clients, calls, wrong) {
  const startedAt = performance.now();
  const open = [];
  for (let index = 0; index < plan.calls; index++) {
    await delay(Math.max(0, startedAt + (index * plan.durationMs) / plan.calls - performance.now()));
    const { user, callTool } = clients[index % clients.length];
    const server = ERAS[Math.floor(index / clients.length) % 2];
    const args = { user, call: `c${index}`, ...(Math.random() < 1 / ASK_EVERY && { ask: true }) };
    const call = {
      startedAt: performance.now(),
      lastSentAt: 0,
      touched: new Set(),
      endedAt: 0,
      error: undefined,
    };
    calls.set(args.call, call);
    const ending = callTool(`${server}__work`, args).then(
      (text) => {
        if (text !== `${user} ${args.call} done`) wrong.push(`${user} got "${text}" for ${args.call}`);
      },
      (error) => {
        call.error = error;
      },
    );
    open.push(
      ending.finally(() => {
        call.endedAt = performance.now();
      }),
    );
  }
  await Promise.all(open);
}
