/** Tasks that run on servers: status, result, cancel. */
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { TaskView } from "../console-api.js";
import { ask } from "./api.js";
import { ResultLine, ResultView, Running } from "./content-view.js";
import { timeOfDay } from "./format.js";
import { html } from "./html.js";
import { act } from "./page-state.js";
import { Pill, type Tone, useAction } from "./widgets.js";

const POLL_MS = 2_000;
const TONES: Readonly<Record<string, Tone>> = {
  working: "busy",
  input_required: "wait",
  completed: "good",
  failed: "bad",
  cancelled: "calm",
};

export function Tasks(): VNode | null {
  const [tasks, load] = useAction<readonly TaskView[]>("tasks", {});
  useEffect(() => {
    const timer = setInterval(load, POLL_MS);
    return () => clearInterval(timer);
  }, []);
  if (!tasks?.length) return null;
  return html`<h2>Tasks</h2><ul class="waiting">${tasks.map((task) => html`<li key=${task.id}><${Task} task=${task} onChange=${load} /></li>`)}</ul>`;
}

export function Task({ task, onChange }: { task: TaskView; onChange: () => void }): VNode {
  const [outcome, setOutcome] = useState<{ result: unknown } | { error: string } | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const { id, tool, server, status, message, progress } = task;
  const wait = async () => {
    setIsBusy(true);
    await ask<unknown>("taskResult", { id }).then(
      (result) => setOutcome({ result }),
      (error: Error) => setOutcome({ error: error.message }),
    );
    setIsBusy(false);
  };
  const cancel = async () => {
    await act("cancelTask", { id });
    onChange();
  };
  return html`<article class="card" aria-label=${`Task ${tool}`}>
    <header><h3 class="mono wrap">${tool}</h3><${Pill} tone=${TONES[status] ?? "calm"}>${status.replace("_", " ")}<//></header>
    <p class="line"><span>${server}</span><span>since ${timeOfDay(Date.parse(task.createdAt))}</span><span class="mono wrap">${id}</span></p>
    ${isBusy || progress ? html`<${Running} label=${message ?? "Running"} progress=${progress} />` : message && html`<p class="note">${message}</p>`}
    ${outcome !== null && "error" in outcome && html`<p class="note bad" role="alert">${outcome.error}</p>`}
    ${outcome !== null && "result" in outcome && html`<div class="answer"><${ResultLine} result=${outcome.result} /><${ResultView} result=${outcome.result} tool=${tool} /></div>`}
    <footer>
      <button class="primary" disabled=${isBusy} onClick=${wait}>${isBusy ? "Waiting…" : "Wait for the result"}</button>
      <button aria-label=${`Cancel the task ${tool}`} onClick=${cancel}>Cancel</button>
    </footer>
  </article>`;
}
