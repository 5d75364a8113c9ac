/** The servers pane: state, last hour and actions of each server, and a form that adds one. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type {
  ActivityView,
  HistoryView,
  ServerHistoryView,
  ServerView,
  ToolSummary,
} from "../console-api.js";
import { ask } from "./api.js";
import { CopyButton } from "./content-view.js";
import { html } from "./html.js";
import { act, agreeToStart, showNotice, usePage } from "./page-state.js";
import { logIn } from "./port-panes.js";
import {
  about,
  Bar,
  duration,
  Empty,
  matches,
  Pill,
  plural,
  Search,
  STATE_TONES,
  timeOfDay,
  typed,
  useAction,
  useElementId,
  useInterval,
  useSeconds,
} from "./widgets.js";

const DOWN = ["idle", "closed", "failed"];

/** With more servers, rows are easier to read than cards. */
const MAX_CARDS = 9;
const HISTORY_MS = 10_000;

/** Servers that need attention come first, those that are not connected last. */
function rankOf({ state, disabled, breaker }: ServerView): number {
  if (disabled) return 4;
  if (state === "failed") return 0;
  if (state === "authenticating" || state === "reconnecting" || breaker?.state === "open") return 1;
  return DOWN.includes(state) ? 3 : 2;
}

const GROUPS = [
  { title: "All", holds: () => true },
  { title: "Problems", holds: (server: ServerView) => rankOf(server) < 2 },
  { title: "Ready", holds: (server: ServerView) => server.state === "ready" },
  { title: "Not connected", holds: (server: ServerView) => rankOf(server) > 2 },
] as const;

export function ServersPane(): VNode {
  const { state, activity, catalog, calls } = usePage();
  const [filter, setFilter] = useState("");
  const [group, setGroup] = useState<string>("All");
  const [isAdding, setIsAdding] = useState(false);
  const [asRows, setAsRows] = useState<boolean | null>(null);
  const [history, loadHistory] = useAction("history", {}, calls.length);
  useInterval(loadHistory, HISTORY_MS);
  const servers = (state?.servers ?? []).toSorted((a, b) => rankOf(a) - rankOf(b));
  const now = useSeconds(servers.some(({ retryAt, breaker }) => (retryAt ?? breaker?.openUntil) != null));
  const ready = servers.filter((server) => server.state === "ready").length;
  const down = servers.filter((server) => DOWN.includes(server.state) && !server.disabled);
  const tools = catalog?.tools ?? [];
  const all = costOf(tools);
  const note = [`${ready} of ${servers.length} ready`, ...(all.tokens > 0 ? [costText(all)] : [])];
  const { holds } = GROUPS.find(({ title }) => title === group) ?? GROUPS[0];
  const shown = servers.filter(
    (server) => holds(server) && matches(filter, server.name, server.address, server.state, server.transport),
  );
  const isRows = asRows ?? servers.length > MAX_CARDS;
  const List = isRows ? ServerRow : ServerCard;
  if (state !== null && servers.length === 0)
    return html`<${Bar} title="Servers" note="" />
      ${isAdding ? html`<${AddServer} onDone=${() => setIsAdding(false)} />` : html`<${Empty} title="No servers yet">Add a server to list and call its tools here.<//><p class="center"><button class="primary" onClick=${() => setIsAdding(true)}>Add a server</button></p>`}`;
  return html`<${Bar} title="Servers" note=${note.join(" · ")}>
      ${down.length > 0 && html`<button onClick=${() => connectAll(down)}>Connect all</button>`}
      <button onClick=${() => setIsAdding(!isAdding)}>Add server</button>
    <//>
    ${isAdding && html`<${AddServer} onDone=${() => setIsAdding(false)} />`}
    <div class="tools">
      <${Search} label="Filter servers" value=${filter} onChange=${setFilter} />
      <div class="switch" role="group" aria-label="Which servers">
        ${GROUPS.map(({ title, holds: isIn }) => html`<button aria-pressed=${group === title} onClick=${() => setGroup(title)}>${title} <span class="count">${servers.filter(isIn).length}</span></button>`)}
      </div>
      <div class="switch" role="group" aria-label="How to show servers">
        <button aria-pressed=${!isRows} onClick=${() => setAsRows(false)}>Cards</button>
        <button aria-pressed=${isRows} onClick=${() => setAsRows(true)}>Rows</button>
      </div>
    </div>
    <${CallVolume} history=${history} />
    ${isRows && html`<${Activity} entries=${activity} isShort=${true} />`}
    ${shown.length === 0 && html`<${Empty} title="No server matches the filter" />`}
    <ul class=${isRows ? "rows" : "cards"}>
      ${shown.map(
        (
          server,
        ) => html`<li key=${server.name}><${List} server=${server} now=${now} cost=${costOf(tools.filter((tool) => tool.server === server.name))} all=${all.tokens}
          history=${history?.servers[server.name]} until=${history?.until ?? now} /></li>`,
      )}
    </ul>
    ${!isRows && html`<${Activity} entries=${activity} />`}`;
}

async function connectAll(servers: readonly ServerView[]): Promise<void> {
  const asking = servers.filter((server) => server.needsConsent);
  const commands = asking.map(({ name, address }) => ({ server: name, command: address }));
  if (commands.length > 0 && !(await agreeToStart(commands))) return;
  await Promise.all(
    servers.map(({ name, needsConsent }) => act("connect", { server: name, consent: needsConsent })),
  );
}

/** Tokens of tool definitions: of all, and of those that models see only after a search. */
const costOf = (tools: readonly ToolSummary[]) => ({
  tokens: sum(tools.map(({ tokens }) => tokens)),
  deferred: sum(tools.map(({ tokens, deferred }) => (deferred ? tokens : 0))),
});
type Cost = ReturnType<typeof costOf>;

const costText = ({ tokens, deferred }: Cost): string =>
  `tools take ${about(tokens)} tokens${deferred === 0 ? "" : deferred === tokens ? ", deferred" : `, ${about(deferred)} deferred`}`;

/** The share of one server in the tokens of all tools; the deferred part is grey. */
function CostBar({ cost, all }: { cost: Cost; all: number }): VNode {
  const { tokens, deferred } = cost;
  const width = (part: number) => `${(100 * part) / all}%`;
  const text = costText(cost);
  return html`<div class="cost">
    <p class="muted small">${text[0]!.toUpperCase()}${text.slice(1)}</p>
    <svg role="img" aria-label=${`${Math.round((100 * tokens) / all)} % of the tokens of all tools`}>
      <rect class="deferred" width=${width(tokens)} height="100%" />
      <rect width=${width(tokens - deferred)} height="100%" />
    </svg>
  </div>`;
}

interface ServerCardProps {
  readonly server: ServerView;
  readonly now: number;
  readonly cost: Cost;
  /** Tokens of the tools of all servers. */
  readonly all: number;
  readonly history: ServerHistoryView | undefined;
  readonly until: number;
}

/** Buttons for what can be done with a server now. */
function ServerButtons({ server }: { server: ServerView }): VNode {
  const [busy, setBusy] = useState<string | null>(null);
  const { name, state, disabled } = server;
  const run = async (action: string, work: () => Promise<unknown>) => {
    setBusy(action);
    await work();
    setBusy(null);
  };
  const button = (label: string, work: () => Promise<unknown>, kind = "") =>
    html`<button class=${kind} aria-label=${`${label} ${name}`} disabled=${busy !== null} onClick=${() => run(label, work)}>
      ${busy === label ? `${label}…` : label}
    </button>`;
  const isUp = !DOWN.includes(state);
  if (disabled) return html`<footer></footer>`;
  return html`<footer>
    ${!isUp && button("Connect", () => connect(server), "primary")}
    ${state === "authenticating" && button("Authorize", () => logIn(name), "primary")}
    ${isUp && button("Restart", () => act("restart", { server: name }))}
    ${state === "ready" && button("Refresh", () => act("refresh", { server: name }))}
    ${isUp && button("Disconnect", () => act("disconnect", { server: name }))}
  </footer>`;
}

const StatePill = ({ server: { state, disabled } }: { server: ServerView }): VNode =>
  html`<${Pill} tone=${disabled ? "calm" : (STATE_TONES[state] ?? "calm")}>${disabled ? "disabled" : state}<//>`;

/** What is wrong or worth knowing. */
function Notes({ server, now }: { server: ServerView; now: number }): VNode {
  const { state, error, disabled, cut } = server;
  return html`<${Trouble} server=${server} now=${now} />
    ${disabled && html`<p class="note">Disabled in its configuration.</p>`}
    ${state === "authenticating" ? html`<p class="note wait">A login is required.</p>` : error && html`<p class="note bad">${error.message}</p>`}
    ${cut && html`<p class="note">${cut}</p>`}`;
}

/** One line for a server. Its problems are shown below the line. */
function ServerRow({ server, now, cost, history, until }: ServerCardProps): VNode {
  const { name, state, latency } = server;
  return html`<article class="server" aria-label=${name} data-state=${state}>
    <div class="cells">
      <h3>${name}</h3>
      <${StatePill} server=${server} />
      <span class="address mono" title=${server.address}>${server.address}</span>
      <span class="figure">${plural(server.toolCount, "tool")}${cost.tokens > 0 && html` <span class="muted">${about(cost.tokens)}</span>`}</span>
      <span class="figure">${latency ? duration(latency.p95) : html`<span class="muted">–</span>`}</span>
      <span class="picture"><${LatencySpark} history=${history} /><${StateStrip} history=${history} until=${until} /></span>
      <${ServerButtons} server=${server} />
    </div>
    <${Notes} server=${server} now=${now} />
  </article>`;
}

function ServerCard({ server, now, cost, all, history, until }: ServerCardProps): VNode {
  const { name, state } = server;
  const facts = [
    server.transport,
    server.protocolVersion,
    server.serverInfo && `${server.serverInfo.name} ${server.serverInfo.version}`,
  ].filter(Boolean);
  return html`<article class="card" aria-label=${name} data-state=${state}>
    <header>
      <h3>${name}</h3>
      <${StatePill} server=${server} />
    </header>
    <div class="about">
      <p class="address mono" title=${server.address}>${server.address}</p>
      <p class="muted small">${facts.join(" · ")}</p>
      ${server.fallback.length > 0 && html`<p class="muted small">falls back to ${server.fallback.join(", ")}</p>`}
      ${server.source && html`<p class="muted small wrap">from ${server.source}</p>`}
    </div>
    <dl class="figures">
      <div><dt>Tools</dt><dd>${server.toolCount}</dd></div>
      <div><dt>p50</dt><dd>${server.latency ? duration(server.latency.p50) : "–"}</dd></div>
      <div><dt>p95</dt><dd>${server.latency ? duration(server.latency.p95) : "–"}</dd></div>
      <div><dt>Calls</dt><dd>${server.latency?.calls ?? 0}</dd></div>
    </dl>
    <div class="picture"><${LatencySpark} history=${history} /><${StateStrip} history=${history} until=${until} /></div>
    ${cost.tokens > 0 && html`<${CostBar} cost=${cost} all=${all} />`}
    <${Notes} server=${server} now=${now} />
    <${ServerButtons} server=${server} />
  </article>`;
}

async function connect({ name }: ServerView): Promise<void> {
  const report = await act("connect", { server: name });
  if (report?.state === "ready")
    showNotice(`${name} is ready: ${plural(report.toolCount, "tool")} in ${duration(report.ms)}`);
}

/** Retry and circuit breaker state of a server. */
function Trouble({ server, now }: { server: ServerView; now: number }): VNode | null {
  const { attempt, retryAt, breaker } = server;
  const left = (at: number) => Math.max(0, Math.ceil((at - now) / 1_000));
  const lines: string[] = [];
  if (retryAt !== null)
    lines.push(`Attempt ${attempt} ${left(retryAt) > 0 ? `in ${left(retryAt)} s` : "now"}`);
  if (breaker !== null && breaker.state !== "closed") {
    const seconds = breaker.openUntil === null ? 0 : left(breaker.openUntil);
    const until = seconds === 0 ? "" : `, next attempt in ${seconds} s`;
    lines.push(`Breaker ${breaker.state} after ${plural(breaker.failures, "failure")}${until}`);
  }
  return lines.length === 0 ? null : html`<p class="note wait" role="status">${lines.join(" · ")}</p>`;
}

function Activity({ entries, isShort }: { entries: readonly ActivityView[]; isShort?: boolean }): VNode {
  return html`<section class=${isShort ? "activity short" : "activity"} aria-labelledby="activity">
    <h2 id="activity">Activity</h2>
    ${entries.length === 0 && html`<p class="muted">Nothing has happened yet.</p>`}
    <ol class="log" tabindex="0" aria-labelledby="activity">
      ${entries.map(
        (entry) => html`<li key=${entry.id} class=${entry.kind}>
          <time>${timeOfDay(entry.at)}</time><b>${entry.server ?? "–"}</b><span>${entry.text}</span>
        </li>`,
      )}
    </ol>
  </section>`;
}

const COMMAND = "toolport add files -- npx -y @modelcontextprotocol/server-filesystem .";

function AddServer({ onDone }: { onDone: () => void }): VNode {
  const id = useElementId();
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const [issue, setIssue] = useState<{ field: string; message: string } | null>(null);
  const add = async (event: Event) => {
    event.preventDefault();
    try {
      await ask("addServer", { name, url });
    } catch (error) {
      const { message } = error as Error;
      return setIssue({ field: /name/i.test(message) ? "name" : "url", message });
    }
    onDone();
    await act("connect", { server: name });
  };
  const field = (key: string, label: string, value: string, set: (text: string) => void, hint: string) =>
    html`<div class="field"><label for=${`${id}-${key}`}>${label}</label>
      <input id=${`${id}-${key}`} type="text" required autocomplete="off" spellcheck=${false} placeholder=${hint} value=${value}
        aria-invalid=${issue?.field === key} aria-describedby=${issue?.field === key ? `${id}-issue` : undefined} onInput=${(event: Event) => set(typed(event))} />
      ${issue?.field === key && html`<p class="issue" id=${`${id}-issue`}>${issue.message}</p>`}</div>`;
  return html`<form class="try card" novalidate onSubmit=${add} aria-label="Add a server">
    <h3>Add a server</h3>
    ${field("name", "Name", name, setName, "weather")}
    ${field("url", "URL", url, setUrl, "https://…/mcp")}
    <div class="buttons"><button class="primary">Add and connect</button><button type="button" onClick=${onDone}>Cancel</button></div>
    <p class="muted small">A server that runs as a program is added on the command line, for example:</p>
    <p class="row"><code class="mono wrap">${COMMAND}</code><${CopyButton} text=${COMMAND} label="Copy command" /></p>
  </form>`;
}

const HOUR_MS = 3_600_000;
const [WIDTH, HEIGHT] = [120, 22];
const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

/** Average latency as a line, failed calls as red bars below it. */
function LatencySpark({ history }: Pick<ServerCardProps, "history">): VNode | null {
  const calls = sum(history?.calls ?? []);
  if (history === undefined || calls === 0) return null;
  const step = WIDTH / history.calls.length;
  const slowest = Math.max(...history.latencies.map((value) => value ?? 0), 1);
  const points = history.latencies.flatMap((value, index) => {
    const y = HEIGHT - 4 - ((value ?? 0) / slowest) * (HEIGHT - 6);
    return value === null ? [] : [`${((index + 0.5) * step).toFixed(1)},${y.toFixed(1)}`];
  });
  const failures = sum(history.errors);
  const text = `Last hour: ${plural(calls, "call")}, ${plural(failures, "error")}, slowest minute ${duration(slowest)}`;
  return html`<svg class="spark" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${text}><title>${text}</title>
    ${points.length > 1 ? html`<polyline points=${points.join(" ")} />` : html`<circle cx=${points[0]?.split(",")[0]} cy=${points[0]?.split(",")[1]} r="1.5" />`}
    ${history.errors.map((count, index) => count > 0 && html`<rect class="failed" x=${index * step} y=${HEIGHT - 4} width=${step} height="4" />`)}
  </svg>`;
}

/** The states of the last hour as a strip. */
function StateStrip({ history, until }: Pick<ServerCardProps, "history" | "until">): VNode | null {
  const states = history?.states ?? [];
  if (states.length === 0) return null;
  const at = (time: number) => Math.max(0, (1 - (until - time) / HOUR_MS) * 100);
  const parts = states.map(({ at: from, state }, index) => {
    const x = at(from);
    const end = at(states[index + 1]?.at ?? until);
    return html`<rect class=${STATE_TONES[state] ?? "calm"} x=${x} width=${Math.max(end - x, 0.4)} height="4"><title>${state}</title></rect>`;
  });
  const text = `States in the last hour, now ${states.at(-1)?.state}`;
  return html`<svg class="strip" viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label=${text}>${parts}</svg>`;
}

/** Calls per minute of all servers; the failed part is red. */
function CallVolume({ history }: { history: HistoryView | null | undefined }): VNode | null {
  const all = Object.values(history?.servers ?? {});
  const total = (values: (server: ServerHistoryView) => readonly number[]) =>
    Array.from({ length: 60 }, (_, index) => sum(all.map((server) => values(server)[index] ?? 0)));
  const calls = total((server) => server.calls);
  const errors = total((server) => server.errors);
  if (sum(calls) === 0) return null;
  const most = Math.max(...calls);
  const bar = (value: number) => (value / most) * 40;
  const text = `${plural(sum(calls), "call")} and ${plural(sum(errors), "error")} in the last hour, ${most} in the busiest minute`;
  return html`<figure class="volume"><svg viewBox="0 0 240 40" preserveAspectRatio="none" role="img" aria-label=${text}>
      ${calls.map((count, index) => count > 0 && html`<rect x=${index * 4} y=${40 - bar(count)} width="3" height=${bar(count)} />`)}
      ${errors.map((count, index) => count > 0 && html`<rect class="failed" x=${index * 4} y=${40 - bar(count)} width="3" height=${bar(count)} />`)}
    </svg><figcaption class="muted small">${text}</figcaption></figure>`;
}
