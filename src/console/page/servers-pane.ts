/** The servers pane: state and actions of each server. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ActivityView, ServerView } from "../console-api.js";
import { logIn } from "./authorization-pane.js";
import { duration, plural, timeOfDay } from "./format.js";
import { html } from "./html.js";
import { act, agreeToStart, showNotice, usePage } from "./page-state.js";
import { Bar, Empty, Pill, STATE_TONES, useSeconds } from "./widgets.js";

const DOWN = ["idle", "closed", "failed"];

export function ServersPane(): VNode {
  const { state, activity } = usePage();
  const servers = state?.servers ?? [];
  const counts = servers.some(
    ({ retryAt, breaker }) => retryAt !== null || (breaker?.openUntil ?? null) !== null,
  );
  const now = useSeconds(counts);
  const ready = servers.filter((server) => server.state === "ready").length;
  const down = servers.filter((server) => DOWN.includes(server.state));
  return html`<${Bar} title="Servers" note=${`${ready} of ${servers.length} ready`}>
      ${down.length > 0 && html`<button onClick=${() => connectAll(down)}>Connect all</button>`}
    <//>
    ${servers.length === 0 && html`<${Empty} title="No servers are configured" />`}
    <ul class="cards">
      ${servers.map((server) => html`<li key=${server.name}><${ServerCard} server=${server} now=${now} /></li>`)}
    </ul>
    <${Activity} entries=${activity} />`;
}

async function connectAll(servers: readonly ServerView[]): Promise<void> {
  const asking = servers.filter((server) => server.needsConsent);
  const commands = asking.map(({ name, address }) => ({ server: name, command: address }));
  if (commands.length > 0 && !(await agreeToStart(commands))) return;
  const consent = true;
  await Promise.all(
    servers.map(({ name, needsConsent }) =>
      act("connect", { server: name, ...(needsConsent && { consent }) }),
    ),
  );
}

function ServerCard({ server, now }: { server: ServerView; now: number }): VNode {
  const [busy, setBusy] = useState<string | null>(null);
  const { name, state, error } = server;
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
  const facts = [
    server.transport,
    server.protocolVersion,
    server.serverInfo && `${server.serverInfo.name} ${server.serverInfo.version}`,
  ].filter(Boolean);
  return html`<article class="card" aria-label=${name} data-state=${state}>
    <header>
      <h3>${name}</h3>
      <${Pill} tone=${STATE_TONES[state] ?? "calm"}>${state}<//>
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
    <${Trouble} server=${server} now=${now} />
    ${state === "authenticating" ? html`<p class="note wait">A login is required.</p>` : error && html`<p class="note bad">${error.message}</p>`}
    ${server.cut && html`<p class="note">${server.cut}</p>`}
    <footer>
      ${!isUp && button("Connect", () => connect(server), "primary")}
      ${state === "authenticating" && button("Authorize", () => logIn(name), "primary")}
      ${isUp && button("Restart", () => act("restart", { server: name }))}
      ${state === "ready" && button("Refresh", () => act("refresh", { server: name }))}
      ${isUp && button("Disconnect", () => act("disconnect", { server: name }))}
    </footer>
  </article>`;
}

async function connect({ name }: ServerView): Promise<void> {
  const report = await act<{ state: string; toolCount: number; ms: number }>("connect", { server: name });
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
    const until =
      breaker.openUntil === null || left(breaker.openUntil) === 0
        ? ""
        : `, next attempt in ${left(breaker.openUntil)} s`;
    lines.push(`Breaker ${breaker.state} after ${plural(breaker.failures, "failure")}${until}`);
  }
  return lines.length === 0 ? null : html`<p class="note wait" role="status">${lines.join(" · ")}</p>`;
}

function Activity({ entries }: { entries: readonly ActivityView[] }): VNode {
  return html`<section class="activity" aria-labelledby="activity">
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
