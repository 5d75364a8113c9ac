/** The calls pane: lists calls as they happen, with details and replay. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { CallSummary, CallView } from "../console-api.js";
import { Code, progressText, ResultView, Running } from "./content-view.js";
import { duration, json, plural, timeOfDay } from "./format.js";
import { html } from "./html.js";
import { act, askWithConsent, showNotice, usePage } from "./page-state.js";
import { setDraft } from "./try-tool.js";
import { Bar, Empty, matches, PickList, Pill, Search, Split, type Tone, useAction } from "./widgets.js";

const TONES: Readonly<Record<CallSummary["outcome"], Tone>> = {
  running: "busy",
  ok: "good",
  error: "bad",
  tool_error: "wait",
  suspended: "wait",
};
const WORDS: Readonly<Record<CallSummary["outcome"], string>> = {
  running: "running",
  ok: "ok",
  error: "error",
  tool_error: "tool error",
  suspended: "suspended",
};

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
    ${
      shown.length === 0
        ? html`<${Empty} title="No calls yet">Calls of your program appear here as they happen.<//>`
        : html`<${PickList} label="Calls" items=${shown} keyOf=${(item: CallSummary) => String(item.id)} picked=${picked}
          onPick=${setPicked} draw=${drawRow} />`
    }`;
  return html`<${Bar} title="Calls" note=${`the last ${calls.length}`} />
    <${Split} isOpen=${call !== undefined} onBack=${() => setPicked(null)} list=${list}>
      ${
        call === undefined
          ? html`<${Empty} title="Choose a call">Its arguments and its result appear here.<//>`
          : html`<${Call} key=${call.id} call=${call} onEdit=${onEdit} />`
      }
    <//>`;
}

const drawRow = (call: CallSummary): VNode => html`<span class="row">
    <span class="name mono">${call.target}</span><${Pill} tone=${TONES[call.outcome]}>${WORDS[call.outcome]}<//>
  </span>
  <span class="row muted small">
    <span>${timeOfDay(call.startedAt)} · ${call.kind === "tool" ? "" : `${call.kind} · `}${call.server}${call.answeredBy ? ` → ${call.answeredBy}` : ""}${call.principal ? ` · ${call.principal}` : ""}</span>
    <span>${call.attempts !== null && call.attempts > 1 ? `${plural(call.attempts, "attempt")} · ` : ""}${call.durationMs === null ? (progressText(call.progress) ?? "…") : duration(call.durationMs)}</span>
  </span>`;

function Call({ call, onEdit }: { call: CallSummary; onEdit: (tool: string) => void }): VNode {
  const [view] = useAction<CallView>("call", { id: call.id }, call.outcome);
  const [isBusy, setIsBusy] = useState(false);
  const replay = async () => {
    setIsBusy(true);
    try {
      const result = await askWithConsent("replay", { id: call.id });
      if (result !== undefined) showNotice(`${call.target} was called again`);
    } catch (error) {
      showNotice((error as Error).message, true);
    }
    setIsBusy(false);
  };
  const edit = () => {
    setDraft(call.target, view?.args);
    onEdit(call.target);
  };
  return html`<h3 class="title mono wrap">${call.target}</h3>
    <p class="line">
      <${Pill} tone=${TONES[call.outcome]}>${WORDS[call.outcome]}<//>
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
