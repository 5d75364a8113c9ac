/** The catalog pane: all tools, withheld tools with the reason, and a form to try a tool. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { CatalogView, ToolSummary, ToolView } from "../console-api.js";
import { Code } from "./content-view.js";
import { about, json, plural } from "./format.js";
import { html } from "./html.js";
import { usePage } from "./page-state.js";
import { TryTool } from "./try-tool.js";
import { Bar, Empty, matches, PickList, Search, Split, typed, useAction } from "./widgets.js";

type View = "tools" | "withheld";

export interface CatalogPaneProps {
  readonly picked: string | null;
  readonly onPick: (name: string | null) => void;
}

export function CatalogPane({ picked, onPick }: CatalogPaneProps): VNode {
  const { catalog, state } = usePage();
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
      <select aria-label="Server" value=${server} onChange=${(event: Event) => setServer(typed(event))}>
        <option value="">All servers</option>
        ${(state?.servers ?? []).map(({ name }) => html`<option value=${name}>${name}</option>`)}
      </select>
    </div>
    <div class="switch" role="group" aria-label="What to list">
      ${(["tools", "withheld"] as const).map(
        (name) => html`<button aria-pressed=${view === name} onClick=${() => setView(name)}>
          ${name === "tools" ? "Offered" : "Withheld"} <span class="count">${name === "tools" ? tools.length : withheld.length}</span>
        </button>`,
      )}
    </div>
    ${view === "tools" ? html`<${Tools} tools=${tools} picked=${picked} onPick=${onPick} />` : html`<${Withheld} tools=${withheld} />`}`;
  return html`<${Bar} title="Catalog" note=${plural(catalog?.tools.length ?? 0, "tool")} />
    <${Split} isOpen=${picked !== null} onBack=${() => onPick(null)} list=${list}>
      ${picked === null ? html`<${Empty} title="Choose a tool">Its schema and a form to try it appear here.<//>` : html`<${Tool} key=${picked} name=${picked} />`}
    <//>`;
}

function Tools({ tools, picked, onPick }: { tools: readonly ToolSummary[] } & CatalogPaneProps): VNode {
  if (tools.length === 0) return html`<${Empty} title="No tools">Connect a server, or change the filter.<//>`;
  return html`<${PickList} label="Tools" items=${tools} keyOf=${(tool: ToolSummary) => tool.name} picked=${picked} onPick=${onPick}
    draw=${(tool: ToolSummary) => html`<span class="name mono">${tool.name}</span>
      <span class="muted small clamp">${tool.description || tool.title || "No description"}</span>
      ${
        (tool.nameIssue || tool.textFinding) &&
        html`<span class="badges">
        ${tool.nameIssue && html`<span class="chip wait">${tool.nameIssue.split(":")[0]}</span>`}
        ${tool.textFinding && html`<span class="chip bad">hidden text</span>`}
      </span>`
      }`} />`;
}

function Withheld({ tools }: { tools: CatalogView["withheld"] }): VNode {
  if (tools.length === 0) return html`<${Empty} title="Nothing is withheld" />`;
  return html`<ul class="plain">${tools.map(
    (tool) =>
      html`<li><span class="name mono">${tool.server} / ${tool.name}</span><span class="muted small">${tool.reason}</span></li>`,
  )}</ul>`;
}

function Tool({ name }: { name: string }): VNode {
  const { catalog } = usePage();
  const [tool] = useAction<ToolView>("tool", { name }, catalog?.version);
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
