/** Panes about the port itself: the directories that servers may work on, and the saved records. */
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { Root } from "../../protocol/server-requests/sampling-and-roots.js";
import { ask } from "./api.js";
import { html } from "./html.js";
import { showNotice } from "./page-state.js";
import { Bar, Empty, matches, plural, Search, size, typed, useAction, useElementId } from "./widgets.js";

/** Accepts a path as well. */
const toUri = (text: string): string =>
  /^(?:\/|[a-z]:[\\/])/i.test(text) ? new URL(text, "file:///").href : text;

export function RootsPane(): VNode {
  const [saved, load] = useAction("roots", {});
  const [roots, setRoots] = useState<readonly Root[]>([]);
  const [uri, setUri] = useState("");
  const [issue, setIssue] = useState("");
  const id = useElementId();
  useEffect(() => setRoots(saved ?? []), [saved]);
  const save = async (next: readonly Root[]) => {
    try {
      await ask("setRoots", { roots: next });
      setIssue("");
      setUri("");
      showNotice("The servers were notified");
      load();
    } catch (error) {
      setIssue((error as Error).message);
    }
  };
  const add = (event: Event) => {
    event.preventDefault();
    return save([...roots, { uri: toUri(uri.trim()) }]);
  };
  return html`<${Bar} title="Roots" note="Directories that servers may ask for" />
    ${roots.length === 0 && html`<${Empty} title="No roots">Servers that ask get an empty list.<//>`}
    ${
      roots.length > 0 &&
      html`<ul class="plain">${roots.map(
        (root) => html`<li key=${root.uri} class="row"><span class="mono wrap">${root.uri}</span>
          <button class="quiet" aria-label=${`Remove ${root.uri}`} onClick=${() => save(roots.filter((other) => other !== root))}>Remove</button></li>`,
      )}</ul>`
    }
    <form class="try" onSubmit=${add} aria-label="Add a root">
      <div class="field"><label for=${id}>Path or file:// URL</label>
        <input id=${id} type="text" required autocomplete="off" spellcheck=${false} placeholder="/home/ada/project" value=${uri} aria-invalid=${issue !== ""}
          aria-describedby=${issue && `${id}-issue`} onInput=${(event: Event) => setUri(typed(event))} />
        ${issue && html`<p class="issue" id=${`${id}-issue`}>${issue}</p>`}</div>
      <div class="buttons"><button class="primary">Add root</button></div>
    </form>`;
}

export function SavedStatePane(): VNode {
  const [view, load] = useAction("records", {});
  const [filter, setFilter] = useState("");
  const records = (view?.records ?? []).filter(({ key }) => matches(filter, key));
  return html`<${Bar} title="Saved state" note=${view && plural(view.total, "record")}><button onClick=${load}>Refresh</button><//>
    ${view === null && html`<${Empty} title="State is in memory">Configure a store for the port to see its records here.<//>`}
    ${view && html`<${Search} label="Filter keys" value=${filter} onChange=${setFilter} />`}
    ${view && records.length === 0 && html`<${Empty} title="No records" />`}
    ${
      records.length > 0 &&
      html`<div class="scroll" tabindex="0" role="region" aria-label="Records"><table>
        <thead><tr><th scope="col">Key</th><th scope="col">Version</th><th scope="col">Size</th><th scope="col">Encrypted</th></tr></thead>
        <tbody>${records.map(
          (record) => html`<tr key=${record.key}>
            <td class="mono key">${record.key}</td><td>${record.version}</td><td>${size(record.bytes)}</td>
            <td>${record.sealed ? "yes" : "no"}</td>
          </tr>`,
        )}</tbody>
      </table></div>
      ${view && view.total > view.records.length && html`<p class="muted">The first ${view.records.length} of ${view.total}.</p>`}`
    }`;
}
