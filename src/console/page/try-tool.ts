/** Calls a tool with a form or JSON, and shows the result. */
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ToolView } from "../console-api.js";
import { Failure } from "./api.js";
import { ResultLine, ResultView } from "./content-view.js";
import { html } from "./html.js";
import { askWithConsent } from "./page-state.js";
import { initial, kindOf, resolve, type Schema } from "./schema-shape.js";
import { Group, JsonInput } from "./tool-form.js";

/** The last arguments of each tool, kept while the user visits other panes. */
const drafts = new Map<string, unknown>();

/** Sets the arguments that the form starts with. */
export const setDraft = (tool: string, args: unknown): void => void drafts.set(tool, args);

type Outcome = { readonly result: unknown } | { readonly failure: Failure };

export function TryTool({ tool }: { tool: ToolView }): VNode {
  const root = (tool.inputSchema ?? {}) as Schema;
  const schema = resolve(root, root);
  const hasForm = kindOf(schema, 0) === "group";
  const [args, setArgs] = useState<unknown>(() => drafts.get(tool.name) ?? initial(schema, root, true) ?? {});
  const [asJson, setAsJson] = useState(!hasForm);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const running = useRef<AbortController | null>(null);
  const [isRunning, setIsRunning] = useState(false);
  useEffect(() => () => running.current?.abort(), []);
  const change = (value: unknown) => {
    drafts.set(tool.name, value);
    setArgs(value);
  };
  const send = async (event: Event) => {
    event.preventDefault();
    const controller = new AbortController();
    running.current = controller;
    setIsRunning(true);
    try {
      const body = { name: tool.name, args: args ?? {} };
      const result = await askWithConsent<unknown>("callTool", body, controller.signal);
      if (result !== undefined) setOutcome({ result });
    } catch (error) {
      const stopped = { code: "STOPPED", message: "Stopped. The server was notified." };
      setOutcome({ failure: controller.signal.aborted ? new Failure(stopped) : (error as Failure) });
    }
    setIsRunning(false);
  };
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
        : html`<${Group} name="" schema=${schema} root=${root} value=${args} must=${true} depth=${0} onChange=${change} />`
    }
    <div class="buttons">
      <button class="primary" disabled=${isRunning}>${isRunning ? "Calling…" : "Call tool"}</button>
      ${isRunning && html`<button type="button" onClick=${() => running.current?.abort()}>Stop</button>`}
    </div>
    ${outcome !== null && html`<div class="answer" aria-live="polite">${drawOutcome(outcome)}</div>`}
  </form>`;
}

function drawOutcome(outcome: Outcome): VNode {
  if ("result" in outcome)
    return html`<${ResultLine} result=${outcome.result} /><${ResultView} result=${outcome.result} />`;
  return html`<div class="note bad" role="alert">${outcome.failure.message}
    ${
      outcome.failure.detail.issues &&
      html`<ul>${outcome.failure.detail.issues.map(
        (issue) => html`<li><span class="mono">${issue.path || "arguments"}</span>: ${issue.message}</li>`,
      )}</ul>`
    }</div>`;
}
