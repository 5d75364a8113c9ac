/** The state pane: keys, versions and sizes of the saved records, never values. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { RecordsView } from "../console-api.js";
import { plural, size } from "./format.js";
import { html } from "./html.js";
import { Bar, Empty, matches, Search, useAction } from "./widgets.js";

export function SavedStatePane(): VNode {
  const [view, load] = useAction<RecordsView>("records", {});
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
