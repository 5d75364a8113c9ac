/** Panes about the port itself: the logins of its servers, the directories that servers may work on, and the saved records. */

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { LoginView, Root, TrafficEntry } from "../console-api.js";
import { ask } from "./api.js";
import { Code } from "./content-view.js";
import { html } from "./html.js";
import { act, question, showNotice, usePage } from "./page-state.js";
import {
  Bar,
  Empty,
  fromNow,
  json,
  matches,
  Pill,
  plural,
  Search,
  size,
  timeOfDay,
  typed,
  useAction,
  useElementId,
  useSeconds,
} from "./widgets.js";

/** Servers whose login was started here: only then the console listens for the redirect. */
const started = new Set<string>();

/** Starts a login and opens its page in a new tab. */
export async function logIn(server: string): Promise<void> {
  const report = await act("authorize", { server });
  if (report === undefined) return;
  if (report.authUrl !== null && isPage(report.authUrl)) {
    started.add(server);
    window.open(report.authUrl, "_blank", "noopener,noreferrer");
    showNotice(
      `Log in at ${new URL(report.authUrl).host} in the new tab. If it did not open, follow the link under Authorization.`,
    );
  } else if (report.state === "ready") showNotice(`${server} is ready`);
  else showNotice(report.error?.message ?? `${server} is ${report.state}`, true);
}

/** Rejects `javascript:` and other URLs that are not web pages. The port has checked it, too. */
export const isPage = (url: string): boolean => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);

export function AuthorizationPane(): VNode {
  const { state, traffic } = usePage();
  // Reload whenever a server changes its state, because a login ends with a change.
  const moves = (state?.servers ?? []).map((server) => `${server.name} ${server.state}`).join();
  const [logins, load] = useAction("logins", {}, moves);
  useSeconds(true);
  const isWanted = ({ server, authorized, error }: LoginView) =>
    authorized ||
    error !== null ||
    traffic.some((entry) => entry.kind === "auth" && entry.server === server) ||
    state?.servers.some((view) => view.name === server && view.state === "authenticating");
  const wanted = (logins ?? []).filter(isWanted);
  const others = (logins ?? []).filter((login) => !isWanted(login));
  return html`<${Bar} title="Authorization" note=${whose(state?.principal ?? null)} />
    ${logins?.length === 0 && html`<${Empty} title="No server supports logins">Only servers over HTTP do.<//>`}
    <ul class="cards loose">
      ${wanted.map((login) => html`<li key=${login.server}><${Login} login=${login} onChange=${load} /></li>`)}
    </ul>
    ${others.length > 0 && html`<p class="muted others">No login was asked for so far: ${others.map(({ server }) => server).join(", ")}</p>`}`;
}

const whose = (principal: string | null): string =>
  principal === null ? "Logins of this program" : `Logins of ${principal}`;

function Login({ login, onChange }: { login: LoginView; onChange: () => void }): VNode {
  const { state } = usePage();
  const { server, managed, authorized, issuer, scopes, expiresAt } = login;
  const view = state?.servers.find(({ name }) => name === server);
  const isAsked = view?.state === "authenticating";
  // The server is ready without a login.
  const isOpen = managed && !authorized && view?.state === "ready";
  const tone = authorized ? "good" : isAsked ? "wait" : "calm";
  const without = isOpen ? "no login needed" : managed ? "not logged in" : "not managed";
  const words = authorized ? "logged in" : isAsked ? "login needed" : without;
  const logOut = async () => {
    const text = "Its tokens are revoked where possible, and deleted.";
    if (!(await question({ title: `Log out of ${server}?`, text, confirm: "Log out" }))) return;
    await act("logOut", { server });
    onChange();
  };
  return html`<article class="card" aria-label=${server}>
    <header>
      <h3>${server}</h3>
      <${Pill} tone=${tone}>${words}<//>
    </header>
    ${
      authorized &&
      html`<dl class="facts">
          <dt>Issuer</dt><dd class="mono">${issuer ?? "–"}</dd>
          <dt>Scopes</dt><dd>${scopes ? scopes.split(" ").map((scope) => html`<span class="chip mono">${scope}</span>`) : "–"}</dd>
          <dt>Expires</dt><dd>${expiresAt === null ? "–" : html`<time title=${new Date(expiresAt).toLocaleString()}>${fromNow(expiresAt)}</time>`}</dd>
        </dl>`
    }
    ${!managed && html`<p class="muted">Toolport does not manage logins of this server: it needs none, or your own headers or provider handle them.</p>`}
    ${login.error && html`<p class="note bad">${login.error}</p>`}
    <${Steps} server=${server} />
    ${
      isAsked &&
      started.has(server) &&
      view.authUrl !== null &&
      isPage(view.authUrl) &&
      html`<p class="small">Login page: <a href=${view.authUrl} target="_blank" rel="noopener noreferrer">${new URL(view.authUrl).host}</a></p>`
    }
    ${
      managed &&
      (isAsked || authorized) &&
      html`<footer>
        ${isAsked && html`<button class="primary" aria-label=${`Log in to ${server}`} onClick=${() => logIn(server).then(onChange)}>Log in</button>`}
        ${authorized && html`<button aria-label=${`Log out of ${server}`} onClick=${logOut}>Log out</button>`}
      </footer>`
    }
  </article>`;
}

/** The requests of the login, oldest first. */
function Steps({ server }: { server: string }): VNode | null {
  const { traffic } = usePage();
  const steps = traffic.filter((entry) => entry.kind === "auth" && entry.server === server).toReversed();
  if (steps.length === 0) return null;
  return html`<details class="steps"><summary>${plural(steps.length, "request")} of the login</summary>
    <ol>${steps.map((step) => html`<li key=${step.id}><${Step} step=${step} /></li>`)}</ol></details>`;
}

function Step({ step }: { step: TrafficEntry }): VNode {
  const [isOpen, setIsOpen] = useState(false);
  return html`<details onToggle=${(event: Event) => setIsOpen((event.target as HTMLDetailsElement).open)}>
    <summary>${timeOfDay(step.at)} ${step.label}</summary>${isOpen && html`<${StepContent} id=${step.id} />`}</details>`;
}

function StepContent({ id }: { id: number }): VNode {
  const [view] = useAction("message", { id });
  return html`<${Code} label="Request and response">${view ? json(view.content) : "…"}<//>`;
}

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
