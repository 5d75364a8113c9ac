/** Calls a tool with a form or JSON, and shows the result. */
import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import type { TaskView, ToolView } from "../console-api.js";
import type { Failure } from "./api.js";
import { ResultLine, ResultView, Running } from "./content-view.js";
import { html } from "./html.js";
import { act, askWithConsent, usePage } from "./page-state.js";
import { initial, kindOf, resolve, type Schema } from "./schema-shape.js";
import { StartedTask } from "./tasks-view.js";
import { Group, JsonInput } from "./tool-form.js";

/** The last arguments of each tool, kept while the user visits other panes. */
const drafts = new Map<string, unknown>();

/** Sets the arguments that the form starts with. */
export const setDraft = (tool: string, args: unknown): void => void drafts.set(tool, args);

type Outcome = { readonly result: unknown; readonly args: unknown } | { readonly failure: Failure };

export function TryTool({ tool }: { tool: ToolView }): VNode {
  const { calls } = usePage();
  const root = (tool.inputSchema ?? {}) as Schema;
  const schema = resolve(root, root);
  const hasForm = kindOf(schema, 0) === "group";
  const [args, setArgs] = useState<unknown>(() => drafts.get(tool.name) ?? initial(schema, root, true) ?? {});
  const [asJson, setAsJson] = useState(!hasForm);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [run, setRun] = useState<string | null>(null);
  const [asTask, setAsTask] = useState(false);
  const isRunning = run !== null;
  const shown = useRef(new Set<string>());
  const change = (value: unknown) => {
    drafts.set(tool.name, value);
    setArgs(value);
  };
  const send = async (event: Event) => {
    event.preventDefault();
    const id = crypto.randomUUID();
    setRun(id);
    try {
      const body = { name: tool.name, args: args ?? {}, run: id, task: asTask };
      const result = await askWithConsent<unknown>("callTool", body);
      if (result !== undefined) setOutcome({ result, args });
    } catch (error) {
      setOutcome({ failure: error as Failure });
    }
    setRun(null);
  };
  const issues = outcome !== null && "failure" in outcome ? (outcome.failure.detail.issues ?? []) : [];
  const shared = { "aria-label": "Arguments as JSON" };
  return html`<form class="try" onSubmit=${send} aria-label=${`Try ${tool.name}`}>
    ${
      hasForm &&
      html`<div class="switch" role="group" aria-label="How to write the arguments">
        <button type="button" aria-pressed=${!asJson} onClick=${() => setAsJson(false)}>Form</button>
        <button type="button" aria-pressed=${asJson} onClick=${() => setAsJson(true)}>JSON</button>
      </div>`
    }
    ${
      asJson
        ? html`<${JsonInput} value=${args} onChange=${change} shared=${shared} rows=${10} />`
        : html`<${Group} name="" schema=${schema} root=${root} value=${args} must=${true} depth=${0} path="$" issues=${issues} shown=${shown.current} onChange=${change} />`
    }
    ${tool.canBeTask && html`<label class="inline"><input type="checkbox" checked=${asTask} onChange=${() => setAsTask(!asTask)} /> Run as a task</label>`}
    <div class="buttons">
      <button class="primary" disabled=${isRunning}>${isRunning ? "Calling…" : "Call tool"}</button>
    </div>
    ${run !== null && html`<${Running} progress=${calls.find((call) => call.run === run)?.progress} onCancel=${() => act("cancel", { run })} />`}
    ${outcome !== null && html`<div class="answer" aria-live="polite">${drawOutcome(outcome, tool.name, asJson ? undefined : shown.current)}</div>`}
  </form>`;
}

/** @param shown the paths of the fields that the form shows, or undefined with JSON */
function drawOutcome(outcome: Outcome, tool: string, shown: ReadonlySet<string> | undefined): VNode {
  if ("result" in outcome) {
    const { task } = outcome.result as { task?: TaskView };
    if (task !== undefined) return html`<${StartedTask} key=${task.id} task=${task} />`;
    return html`<${ResultLine} result=${outcome.result} /><${ResultView} result=${outcome.result} tool=${tool} args=${outcome.args} isNew />`;
  }
  const { message, code, detail } = outcome.failure;
  // Issues of a field are shown at the field.
  const isMarked = code === "INVALID_ARGUMENTS" && shown !== undefined;
  const others = (detail.issues ?? []).filter(({ path }) => !shown?.has(path));
  return html`<div class="note bad" role="alert">${isMarked ? "Nothing was sent: correct the marked fields. (INVALID_ARGUMENTS)" : message}
    ${
      others.length > 0 &&
      isMarked &&
      html`<ul>${others.map(({ path, message: text }) => html`<li><span class="mono">${path}</span> ${text}</li>`)}</ul>`
    }</div>`;
}
