/** The programs pane: runs a program in code mode, and shows the last programs with their calls and lines. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ProgramSummary } from "../console-api.js";
import { Code, Running } from "./content-view.js";
import { html } from "./html.js";
import { act, askWithConsent, change, usePage } from "./page-state.js";
import {
  Bar,
  duration,
  Empty,
  PickList,
  Pill,
  plural,
  Search,
  Split,
  type Tone,
  timeOfDay,
  typed,
  useAction,
} from "./widgets.js";

const TONES: Readonly<Record<ProgramSummary["state"], Tone>> = {
  running: "busy",
  ok: "good",
  error: "bad",
  waiting: "wait",
  cancelled: "calm",
};
const MAX_SOURCE = 64 * 1024;

/** Kept while the user visits other panes, where the program of the page goes on. */
const editor = { source: "", run: null as string | null, problem: null as string | null };
const edit = (changes: Partial<typeof editor>): void => {
  Object.assign(editor, changes);
  change({});
};

export function ProgramsPane(): VNode {
  const { programsVersion } = usePage();
  const [programs] = useAction("programs", {}, programsVersion);
  const [picked, setPicked] = useState<string | null>(null);
  const items = programs ?? [];
  // Without a choice of the user, show the newest.
  const program = items.find(({ id }) => String(id) === picked) ?? items[0];
  const list = html`<${PickList} label="Programs" items=${items} keyOf=${({ id }: ProgramSummary) => String(id)} picked=${program && String(program.id)} onPick=${setPicked}
    draw=${drawRow} empty=${html`<${Empty} title="No programs yet">Programs of your code mode on this port appear here, too.<//>`} />`;
  return html`<${Bar} title="Programs" note="code mode: a program calls the tools" />
    <div class="compose"><${Editor} onRun=${() => setPicked(null)} /><${Declarations} /></div>
    <${Split} isOpen=${picked !== null} onBack=${() => setPicked(null)} list=${list}>
      ${program && html`<${Program} key=${program.id} id=${program.id} version=${programsVersion} />`}
    <//>`;
}

function Editor({ onRun }: { onRun: () => void }): VNode {
  usePage();
  const { source, run, problem } = editor;
  const send = async (event: Event) => {
    event.preventDefault();
    const id = crypto.randomUUID();
    edit({ run: id, problem: null });
    onRun();
    const failure = await askWithConsent("runProgram", { source, run: id }).then(
      () => null,
      (error: Error) => error.message,
    );
    edit({ run: null, problem: failure });
  };
  return html`<form class="try" aria-label="Program" onSubmit=${send}>
    <textarea class="mono" rows="10" maxlength=${MAX_SOURCE} spellcheck=${false} aria-label="Source of the program"
      placeholder=${'const issues = await tools.github.listIssues({ repo: "toolport" });\nconsole.log(issues.length);\nreturn issues[0];'}
      value=${source} onInput=${(event: Event) => edit({ source: typed(event) })}></textarea>
    <div class="buttons">
      <button class="primary" disabled=${run !== null || source.trim() === ""}>${run === null ? "Run" : "Running…"}</button>
      <button type="button" disabled=${run === null} onClick=${() => act("cancel", { run })}>Cancel</button>
    </div>
    ${problem && html`<p class="note bad" role="alert">${problem}</p>`}
  </form>`;
}

/** Searches the declarations of tools. */
function Declarations(): VNode {
  const [query, setQuery] = useState("");
  const [declarations, setDeclarations] = useState<string | null>(null);
  const search = async (event: Event) => {
    event.preventDefault();
    setDeclarations((await act("describeTools", { query })) ?? null);
  };
  return html`<form aria-label="Declarations" onSubmit=${search}>
    <div class="filters"><${Search} label="Search declarations" value=${query} onChange=${setQuery} /><button>Search</button></div>
    ${declarations !== null && html`<${Code} label="Declarations">${declarations || "No tool matches"}<//>`}
  </form>`;
}

const drawRow = ({ title, state, startedAt, run, callCount, durationMs }: ProgramSummary): VNode =>
  html`<span class="row"><span class="name mono">${title}</span><${Pill} tone=${TONES[state]}>${state}<//></span>
  <span class="row muted small">
    <span>${timeOfDay(startedAt)} · ${run === null ? "your program" : "this page"} · ${plural(callCount, "call")}</span>
    <span>${durationMs === null ? "…" : duration(durationMs)}</span>
  </span>`;

function Program({ id, version }: { id: number; version: number }): VNode | null {
  const [program] = useAction("program", { id }, version);
  const { calls: all } = usePage();
  if (!program) return null;
  const running = all.filter(
    ({ run, outcome }) => run !== null && run === program.run && outcome === "running",
  );
  const { state, durationMs, source, value, error, line, calls, logs } = program;
  return html`<h3 class="title mono wrap">${program.title}</h3>
    <p class="line" role="status">
      <${Pill} tone=${TONES[state]}>${state}<//>
      ${durationMs !== null && html`<span>${duration(durationMs)}</span>`}
      ${line !== null && html`<span>line ${line}</span>`}
    </p>
    ${error !== null && html`<${Code} label="Error">${error}<//>`}
    ${state === "waiting" && html`<p class="note">This program was saved and waits for a person.</p>`}
    ${state === "ok" && html`<h4>Value</h4>${value === null ? html`<p class="muted">No value</p>` : html`<${Code} label="Value">${value}<//>`}`}
    ${
      calls.length > 0 &&
      html`<h4>Calls</h4><ol class="tries" aria-label="Calls of the program">${calls.map(
        (call) =>
          html`<li><b class="mono">${call.tool}</b> ${call.state === "running" ? "running" : `${duration(call.durationMs)} ${call.state === "ok" ? "ok" : [call.code, call.outcome].filter(Boolean).join(", ")}`}</li>`,
      )}</ol>`
    }
    ${running.map(
      (call) =>
        html`<${Running} key=${call.id} label=${call.target} progress=${call.progress} onCancel=${() => act("cancelCall", { id: call.id })} />`,
    )}
    ${logs.length > 0 && html`<h4>Logs</h4><${Code} label="Logs">${logs.join("\n")}<//>`}
    <h4>Source</h4><${Code} label="Source">${source}<//>`;
}
