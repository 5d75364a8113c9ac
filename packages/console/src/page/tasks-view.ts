/** Tasks that run on servers: status, result, cancel. */

import type { TaskInfo } from "@toolport/core";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { TaskView } from "../console-api.js";
import { ask } from "./api.js";
import { ResultLine, ResultView, Running } from "./content-view.js";
import { html } from "./html.js";
import { act } from "./page-state.js";
import { Pill, type Tone, timeOfDay, useAction, useInterval } from "./widgets.js";

const POLL_MS = 2_000;
const TONES: Readonly<Record<string, Tone>> = {
  working: "busy",
  input_required: "wait",
  completed: "good",
  failed: "bad",
  cancelled: "calm",
};

export function Tasks(): VNode | null {
  const [tasks, load] = useAction("tasks", {});
  /** The list of the server ends with the result, which the user still has to read. */
  const [ended, setEnded] = useState<readonly TaskView[]>([]);
  useInterval(load, POLL_MS);
  const isEnded = ({ id }: TaskView) => ended.some((task) => task.id === id);
  const shown = [...ended, ...(tasks ?? []).filter((task) => !isEnded(task))];
  if (shown.length === 0) return null;
  return html`<h2>Tasks</h2><ul class="waiting">${shown.map(
    (task) => html`<li key=${task.id}><${Task} task=${task} onEnd=${() => setEnded([...ended, task])}
      onDismiss=${() => setEnded(ended.filter(({ id }) => id !== task.id))} /></li>`,
  )}</ul>`;
}

/** A task that the page has just started. */
export function StartedTask({ task: started }: { task: TaskInfo }): VNode {
  const [tasks, load] = useAction("tasks", {});
  const [isOver, setIsOver] = useState(false);
  useInterval(load, POLL_MS, !isOver);
  const listed = tasks?.find(({ id }) => id === started.id);
  const task = listed ?? { ...started, status: "working", message: null, progress: null };
  return html`<${Task} task=${task} onEnd=${() => setIsOver(true)} />`;
}

type Outcome = { readonly result: unknown } | { readonly error: string };

interface TaskProps {
  readonly task: TaskView;
  readonly onEnd: () => void;
  readonly onDismiss?: () => void;
}

function Task({ task, onEnd, onDismiss }: TaskProps): VNode {
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const { id, tool, server, message, progress } = task;
  const status = outcome === null ? task.status : "error" in outcome ? "failed" : "completed";
  const wait = async () => {
    setIsBusy(true);
    const reached: Outcome = await ask("taskResult", { id }).then(
      (result) => ({ result }),
      (error: Error) => ({ error: error.message }),
    );
    onEnd();
    setOutcome(reached);
    setIsBusy(false);
  };
  const cancel = async () => {
    await act("cancelTask", { id });
    // Waits for the end, which is shown.
    if (!isBusy) await wait();
  };
  const isRunning = outcome === null && (isBusy || progress !== null);
  return html`<article class="card" aria-label=${`Task ${tool}`}>
    <header><h3 class="mono wrap">${tool}</h3><${Pill} tone=${TONES[status] ?? "calm"}>${status.replace("_", " ")}<//></header>
    <p class="line"><span>${server}</span><span>since ${timeOfDay(Date.parse(task.createdAt))}</span><span class="mono wrap">${id}</span></p>
    ${isRunning && html`<${Running} label=${progress ? "Running" : (message ?? "Running")} progress=${progress} />`}
    ${!isRunning && outcome === null && message && html`<p class="note">${message}</p>`}
    ${outcome !== null && "error" in outcome && html`<p class="note bad" role="alert">${outcome.error}</p>`}
    ${outcome !== null && "result" in outcome && html`<div class="answer"><${ResultLine} result=${outcome.result} /><${ResultView} result=${outcome.result} tool=${tool} /></div>`}
    ${
      outcome === null
        ? html`<footer>
          <button class="primary" disabled=${isBusy} onClick=${wait}>${isBusy ? "Waiting…" : "Wait for the result"}</button>
          <button aria-label=${`Cancel the task ${tool}`} onClick=${cancel}>Cancel</button>
        </footer>`
        : onDismiss && html`<footer><button onClick=${onDismiss}>Dismiss</button></footer>`
    }
  </article>`;
}
