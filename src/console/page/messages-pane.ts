/** The messages pane: JSON-RPC messages in both directions, stderr, and requests to authorization servers. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { TrafficEntry, TrafficView } from "../console-api.js";
import { Code, CopyButton } from "./content-view.js";
import { duration, json, size, timeOfDay } from "./format.js";
import { html } from "./html.js";
import { act, loadTraffic, usePage } from "./page-state.js";
import { Bar, Empty, matches, PickList, Search, Split, type Tone, typed, useAction } from "./widgets.js";

const KINDS: Readonly<Record<string, string>> = {
  "": "Everything",
  request: "Requests",
  response: "Responses",
  error: "Errors",
  notification: "Notifications",
  stderr: "stderr",
  auth: "OAuth",
};

const TONES: Readonly<Record<TrafficEntry["kind"], Tone>> = {
  request: "busy",
  response: "good",
  error: "bad",
  notification: "calm",
  stderr: "wait",
  auth: "calm",
};

export function MessagesPane(): VNode {
  const { traffic, state } = usePage();
  const [picked, setPicked] = useState<string | null>(null);
  const [filter, setFilter] = useState("");
  const [server, setServer] = useState("");
  const [kind, setKind] = useState("");
  const [frozen, setFrozen] = useState<readonly TrafficEntry[] | null>(null);
  const all = frozen ?? traffic;
  const shown = all.filter(
    (entry) =>
      (server === "" || entry.server === server) &&
      (kind === "" || entry.kind === kind) &&
      matches(filter, entry.label, entry.server, entry.kind),
  );
  const clear = async () => {
    await act("clearTraffic", {});
    setFrozen(null);
    setPicked(null);
    await loadTraffic();
  };
  const list = html`<div class="filters three">
      <${Search} label="Filter messages" value=${filter} onChange=${setFilter} />
      <select aria-label="Server" value=${server} onChange=${(event: Event) => setServer(typed(event))}>
        <option value="">All servers</option>
        ${(state?.servers ?? []).map(({ name }) => html`<option value=${name}>${name}</option>`)}
      </select>
      <select aria-label="Kind" value=${kind} onChange=${(event: Event) => setKind(typed(event))}>
        ${Object.entries(KINDS).map(([value, title]) => html`<option value=${value}>${title}</option>`)}
      </select>
    </div>
    ${
      shown.length === 0
        ? html`<${Empty} title="No messages">Messages appear here while servers are connected and called.<//>`
        : html`<${PickList} label="Messages" items=${shown} keyOf=${(entry: TrafficEntry) => String(entry.id)} picked=${picked}
          onPick=${setPicked} draw=${drawRow} />`
    }`;
  return html`<${Bar} title="Messages" note=${`the last ${all.length}${frozen ? ", paused" : ""}`}>
      <button aria-pressed=${frozen !== null} onClick=${() => setFrozen(frozen ? null : traffic)}>${frozen ? "Continue" : "Pause"}</button>
      <button onClick=${clear}>Clear</button>
    <//>
    <${Split} isOpen=${picked !== null} onBack=${() => setPicked(null)} list=${list}>
      ${picked === null ? html`<${Empty} title="Choose a message">Its JSON appears here, with secrets redacted.<//>` : html`<${Message} key=${picked} id=${Number(picked)} />`}
    <//>`;
}

/** Requests and stderr have no sign of success: only the arrow says who sent it. */
const drawRow = ({ direction, kind, label, at, server, durationMs }: TrafficEntry): VNode =>
  html`<span class="row"><span class="name mono clamp">${label}</span><span class=${`chip ${TONES[kind]}`}>${kind}</span></span>
    <span class="row muted small">
      <span>${timeOfDay(at)} · ${direction === "sent" ? "→" : "←"} ${server}</span>
      <span>${durationMs !== undefined && duration(durationMs)}</span>
    </span>`;

function Message({ id }: { id: number }): VNode {
  const [view] = useAction<TrafficView>("message", { id });
  if (view === undefined) return html`<p class="muted">Loading…</p>`;
  if (view === null) return html`<${Empty} title="This message is no longer kept" />`;
  const text = typeof view.content === "string" ? view.content : json(view.content);
  const way = view.kind === "auth" ? "for" : view.direction === "sent" ? "to" : "from";
  return html`<h3 class="title mono wrap">${view.kind === "stderr" ? "stderr" : view.label}</h3>
    <p class="line">
      <span class=${`chip ${TONES[view.kind]}`}>${view.kind}</span>
      <span>${way} ${view.server}</span><span>${timeOfDay(view.at)}</span><span>${size(view.size)}</span>
      ${view.durationMs !== undefined && html`<span>after ${duration(view.durationMs)}</span>`}
      <${CopyButton} text=${text} label="Copy message" />
    </p>
    <${Code} label="Message">${text}<//>`;
}
