/** The catalog pane: all tools, withheld tools with the reason, and a form that calls a tool. */

import type { TaskInfo } from "@toolport/core";
import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import type { CatalogView, ToolSummary, ToolView } from "../console-api.js";
import type { Failure } from "./api.js";
import { Code, ResultLine, ResultView, Running } from "./content-view.js";
import { html } from "./html.js";
import { act, askWithConsent, usePage } from "./page-state.js";
import { StartedTask } from "./tasks-view.js";
import { Group, initial, JsonInput, kindOf, resolve, type Schema } from "./tool-form.js";
import {
  about,
  Bar,
  Empty,
  json,
  matches,
  PickList,
  plural,
  Search,
  ServerSelect,
  Split,
  useAction,
} from "./widgets.js";

type View = "tools" | "withheld";

interface CatalogPaneProps {
  readonly picked: string | null;
  readonly onPick: (name: string | null) => void;
}

export function CatalogPane({ picked, onPick }: CatalogPaneProps): VNode {
  const { catalog } = usePage();
  const [filter, setFilter] = useState("");
  const [server, setServer] = useState("");
  const [view, setView] = useState<View>("tools");
  const here = <Item extends { server: string }>(item: Item) => server === "" || item.server === server;
  const tools = (catalog?.tools ?? []).filter(
    (tool) => here(tool) && matches(filter, tool.name, tool.title, tool.description, tool.sourceName),
  );
  const withheld = (catalog?.withheld ?? []).filter(
    (tool) => here(tool) && matches(filter, tool.name, tool.server, tool.reason),
  );
  const list = html`<div class="filters">
      <${Search} label="Filter tools" value=${filter} onChange=${setFilter} />
      <${ServerSelect} value=${server} onChange=${setServer} />
    </div>
    <div class="switch" role="group" aria-label="What to list">
      ${(["tools", "withheld"] as const).map(
        (name) => html`<button aria-pressed=${view === name} onClick=${() => setView(name)}>
          ${name === "tools" ? "Offered" : "Withheld"} <span class="count">${name === "tools" ? tools.length : withheld.length}</span>
        </button>`,
      )}
    </div>
    ${
      view === "tools"
        ? html`<${PickList} label="Tools" items=${tools} keyOf=${({ name }: ToolSummary) => name} picked=${picked} onPick=${onPick} draw=${drawRow}
          empty=${html`<${Empty} title="No tools">Connect a server, or change the filter.<//>`} />`
        : html`<${Withheld} tools=${withheld} />`
    }`;
  return html`<${Bar} title="Catalog" note=${plural(catalog?.tools.length ?? 0, "tool")} />
    <${Split} isOpen=${picked !== null} onBack=${() => onPick(null)} list=${list}>
      ${picked === null ? html`<${Empty} title="Choose a tool">Its schema and a form to try it appear here.<//>` : html`<${Tool} key=${picked} name=${picked} />`}
    <//>`;
}

const drawRow = ({ name, description, title, nameIssue, textFinding }: ToolSummary): VNode =>
  html`<span class="name mono">${name}</span><span class="muted small clamp">${description || title || "No description"}</span>
    ${
      (nameIssue || textFinding) &&
      html`<span class="badges">
        ${nameIssue && html`<span class="chip wait">${nameIssue.split(":")[0]}</span>`}
        ${textFinding && html`<span class="chip bad">hidden text</span>`}
      </span>`
    }`;

function Withheld({ tools }: { tools: CatalogView["withheld"] }): VNode {
  if (tools.length === 0) return html`<${Empty} title="Nothing is withheld" />`;
  return html`<ul class="plain">${tools.map(
    (tool) =>
      html`<li><span class="name mono">${tool.server} / ${tool.name}</span><span class="muted small">${tool.reason}</span></li>`,
  )}</ul>`;
}

function Tool({ name }: { name: string }): VNode {
  const { catalog } = usePage();
  const [tool] = useAction("tool", { name }, catalog?.version);
  if (tool === undefined) return html`<p class="muted">Loading…</p>`;
  if (tool === null) return html`<${Empty} title="This tool is no longer offered" />`;
  return html`<h3 class="title">${tool.title ?? tool.sourceName}</h3>
    <p class="muted small mono wrap">${tool.name} · ${tool.server}${tool.sourceName !== tool.name && ` / ${tool.sourceName}`} · ${about(tool.tokens)} tokens${tool.deferred && ", deferred"}</p>
    ${tool.description && html`<p class="prose">${tool.description}</p>`}
    ${tool.nameIssue && html`<p class="note wait">Its name: ${tool.nameIssue}</p>`}
    ${tool.textFinding && html`<p class="note bad">${tool.textFinding}</p>`}
    <${TryTool} tool=${tool} />
    <details><summary>Schema</summary>
      <p class="muted small">Input</p><${Code} label="Input schema">${json(tool.inputSchema)}<//>
      ${tool.outputSchema !== null && html`<p class="muted small">Output</p><${Code} label="Output schema">${json(tool.outputSchema)}<//>`}
      ${tool.annotations !== null && html`<p class="muted small">Annotations of the server</p><${Code} label="Annotations">${json(tool.annotations)}<//>`}
    </details>`;
}

/** The last arguments of each tool, kept while the user visits other panes. */
const drafts = new Map<string, unknown>();

/** Sets the arguments that the form starts with. */
export const setDraft = (tool: string, args: unknown): void => void drafts.set(tool, args);

type Outcome = { readonly result: unknown; readonly args: unknown } | { readonly failure: Failure };

function TryTool({ tool }: { tool: ToolView }): VNode {
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
      const result = await askWithConsent("callTool", body);
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
    const { task } = outcome.result as { task?: TaskInfo };
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
