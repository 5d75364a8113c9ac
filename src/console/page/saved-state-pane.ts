/** Saved state: what lies in the store. Keys, versions and sizes; never a value. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { RecordsView } from "../console-api.js";
import { plural, size } from "./format.js";
import { html } from "./html.js";
import { Bar, Empty, fits, Search, useAnswer } from "./widgets.js";

export function SavedStatePane(): VNode {
  const [view, load] = useAnswer<RecordsView>("records", {});
  const [filter, setFilter] = useState("");
  const records = (view?.records ?? []).filter(({ key }) => fits(filter, key));
  return html`<${Bar} title="Saved state" note=${view && plural(view.total, "record")}><button onClick=${load}>Refresh</button><//>
    ${view === null && html`<${Empty} title="State is kept in memory">Give the port a store, and what it remembers is listed here.<//>`}
    ${view && html`<${Search} label="Filter keys" value=${filter} onChange=${setFilter} />`}
    ${view && records.length === 0 && html`<${Empty} title="No records" />`}
    ${
      records.length > 0 &&
      html`<div class="scroll" tabindex="0" role="region" aria-label="Records"><table>
        <thead><tr><th scope="col">Key</th><th scope="col">Version</th><th scope="col">Size</th><th scope="col">Sealed</th></tr></thead>
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
