/** The panes that show what happens: calls with details and replay, and messages with stderr and the requests of logins. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { CallSummary, TrafficEntry } from "../console-api.js";
import { setDraft } from "./catalog-pane.js";
import { Code, CopyButton, progressText, ResultView, Running } from "./content-view.js";
import { html } from "./html.js";
import { act, load, showNotice, usePage } from "./page-state.js";
import {
  Bar,
  duration,
  Empty,
  json,
  matches,
  PickList,
  Pill,
  plural,
  Search,
  ServerSelect,
  Split,
  size,
  type Tone,
  timeOfDay,
  typed,
  useAction,
} from "./widgets.js";

const OUTCOME_TONES: Readonly<Record<CallSummary["outcome"], Tone>> = {
  running: "busy",
  ok: "good",
  error: "bad",
  tool_error: "wait",
  suspended: "wait",
};
const wordsOf = ({ outcome }: CallSummary): string => outcome.replace("_", " ");

const idOf = ({ id }: { id: number }): string => String(id);

export function CallsPane({ onEdit }: { onEdit: (tool: string) => void }): VNode {
  const { calls } = usePage();
  const [picked, setPicked] = useState<string | null>(null);
  const [filter, setFilter] = useState("");
  const [onlyBad, setOnlyBad] = useState(false);
  const shown = calls.filter(
    (call) =>
      matches(filter, call.server, call.target, call.kind) &&
      (!onlyBad || call.outcome === "error" || call.outcome === "tool_error"),
  );
  const call = calls.find(({ id }) => String(id) === picked);
  const list = html`<div class="filters">
      <${Search} label="Filter calls" value=${filter} onChange=${setFilter} />
      <label class="inline"><input type="checkbox" checked=${onlyBad} onChange=${() => setOnlyBad(!onlyBad)} /> Only failures</label>
    </div>
    <${PickList} label="Calls" items=${shown} keyOf=${idOf} picked=${picked} onPick=${setPicked} draw=${callRow}
      empty=${html`<${Empty} title="No calls yet">Calls of your program appear here as they happen.<//>`} />`;
  return html`<${Bar} title="Calls" note=${`the last ${calls.length}`} />
    <${Split} isOpen=${call !== undefined} onBack=${() => setPicked(null)} list=${list}>
      ${
        call === undefined
          ? html`<${Empty} title="Choose a call">Its arguments and its result appear here.<//>`
          : html`<${Call} key=${call.id} call=${call} onEdit=${onEdit} />`
      }
    <//>`;
}

const callRow = (call: CallSummary): VNode => html`<span class="row">
    <span class="name mono">${call.target}</span><${Pill} tone=${OUTCOME_TONES[call.outcome]}>${wordsOf(call)}<//>
  </span>
  <span class="row muted small">
    <span>${timeOfDay(call.startedAt)} · ${call.kind === "tool" ? "" : `${call.kind} · `}${call.server}${call.answeredBy ? ` → ${call.answeredBy}` : ""}${call.principal ? ` · ${call.principal}` : ""}</span>
    <span>${call.attempts !== null && call.attempts > 1 ? `${plural(call.attempts, "attempt")} · ` : ""}${call.durationMs === null ? (progressText(call.progress) ?? "…") : duration(call.durationMs)}</span>
  </span>`;

function Call({ call, onEdit }: { call: CallSummary; onEdit: (tool: string) => void }): VNode {
  const [view] = useAction("call", { id: call.id }, call.outcome);
  const [isBusy, setIsBusy] = useState(false);
  const replay = async () => {
    setIsBusy(true);
    const result = await act("replay", { id: call.id });
    if (result !== undefined) showNotice(`${call.target} was called again`);
    setIsBusy(false);
  };
  const edit = () => {
    setDraft(call.target, view?.args);
    onEdit(call.target);
  };
  return html`<h3 class="title mono wrap">${call.target}</h3>
    <p class="line">
      <${Pill} tone=${OUTCOME_TONES[call.outcome]}>${wordsOf(call)}<//>
      ${call.durationMs !== null && html`<span>${duration(call.durationMs)}</span>`}
      <span>${call.answeredBy ? `sent to ${call.server}, answered by ${call.answeredBy}` : call.server}</span>
      ${call.attempts !== null && html`<span>${plural(call.attempts, "attempt")}</span>`}
      ${call.person && html`<span>decided by ${call.person}</span>`}
    </p>
    ${call.outcome === "suspended" && html`<p class="note">This call was saved and waits for a person. Calls that still wait are under <a href="#/waiting">Waiting</a>.</p>`}
    <div class="buttons">
      ${call.canReplay && call.outcome !== "running" && html`<button class="primary" disabled=${isBusy} onClick=${replay}>${isBusy ? "Calling…" : "Replay"}</button>`}
      ${call.kind === "tool" && view && html`<button onClick=${edit}>Edit in form</button>`}
    </div>
    ${call.outcome === "running" && html`<${Running} progress=${call.progress} onCancel=${call.canCancel && (() => act("cancelCall", { id: call.id }))} />`}
    ${call.error && html`<p class="note bad">${call.error}</p>`}
    ${
      view &&
      view.tries.length > 1 &&
      html`<h4>Attempts</h4><ol class="tries">${view.tries.map(
        (attempt) =>
          html`<li><b>${attempt.server}</b> ${duration(attempt.durationMs)} ${attempt.error ?? "answered"}</li>`,
      )}</ol>`
    }
    ${view && html`<h4>Arguments</h4><${Code} label="Arguments">${json(view.args)}<//>`}
    ${view && call.outcome !== "running" && view.result !== null && html`<h4>Result</h4><${ResultView} result=${view.result} tool=${call.kind === "tool" ? call.target : undefined} args=${view.args} />`}`;
}

const KINDS: Readonly<Record<string, string>> = {
  "": "Everything",
  request: "Requests",
  response: "Responses",
  error: "Errors",
  notification: "Notifications",
  stderr: "stderr",
  auth: "OAuth",
};

const KIND_TONES: Readonly<Record<TrafficEntry["kind"], Tone>> = {
  request: "busy",
  response: "good",
  error: "bad",
  notification: "calm",
  stderr: "wait",
  auth: "calm",
};

export function MessagesPane(): VNode {
  const { traffic } = usePage();
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
    await load("traffic");
  };
  const list = html`<div class="filters three">
      <${Search} label="Filter messages" value=${filter} onChange=${setFilter} />
      <${ServerSelect} value=${server} onChange=${setServer} />
      <select aria-label="Kind" value=${kind} onChange=${(event: Event) => setKind(typed(event))}>
        ${Object.entries(KINDS).map(([value, title]) => html`<option value=${value}>${title}</option>`)}
      </select>
    </div>
    <${PickList} label="Messages" items=${shown} keyOf=${idOf} picked=${picked} onPick=${setPicked} draw=${messageRow}
      empty=${html`<${Empty} title="No messages">Messages appear here while servers are connected and called.<//>`} />`;
  return html`<${Bar} title="Messages" note=${`the last ${all.length}${frozen ? ", paused" : ""}`}>
      <button aria-pressed=${frozen !== null} onClick=${() => setFrozen(frozen ? null : traffic)}>${frozen ? "Continue" : "Pause"}</button>
      <button onClick=${clear}>Clear</button>
    <//>
    <${Split} isOpen=${picked !== null} onBack=${() => setPicked(null)} list=${list}>
      ${picked === null ? html`<${Empty} title="Choose a message">Its JSON appears here, with secrets redacted.<//>` : html`<${Message} key=${picked} id=${Number(picked)} />`}
    <//>`;
}

/** Requests and stderr have no sign of success: only the arrow says who sent it. */
const messageRow = ({ direction, kind, label, at, server, durationMs }: TrafficEntry): VNode =>
  html`<span class="row"><span class="name mono clamp">${label}</span><span class=${`chip ${KIND_TONES[kind]}`}>${kind}</span></span>
    <span class="row muted small">
      <span>${timeOfDay(at)} · ${direction === "sent" ? "→" : "←"} ${server}</span>
      <span>${durationMs !== undefined && duration(durationMs)}</span>
    </span>`;

function Message({ id }: { id: number }): VNode {
  const [view] = useAction("message", { id });
  if (view === undefined) return html`<p class="muted">Loading…</p>`;
  if (view === null) return html`<${Empty} title="This message is no longer kept" />`;
  const text = typeof view.content === "string" ? view.content : json(view.content);
  const way = view.kind === "auth" ? "for" : view.direction === "sent" ? "to" : "from";
  return html`<h3 class="title mono wrap">${view.kind === "stderr" ? "stderr" : view.label}</h3>
    <p class="line">
      <span class=${`chip ${KIND_TONES[view.kind]}`}>${view.kind}</span>
      <span>${way} ${view.server}</span><span>${timeOfDay(view.at)}</span><span>${size(view.size)}</span>
      ${view.durationMs !== undefined && html`<span>after ${duration(view.durationMs)}</span>`}
      <${CopyButton} text=${text} label="Copy message" />
    </p>
    <${Code} label="Message">${text}<//>`;
}
