/** The console's page: panes, navigation and dialogs. */
import { render, type VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { CatalogPane } from "./catalog-pane.js";
import { html } from "./html.js";
import { CallsPane, MessagesPane } from "./log-panes.js";
import { change, isOpen, type PageState, type Question, start, usePage } from "./page-state.js";
import { AuthorizationPane, RootsPane, SavedStatePane } from "./port-panes.js";
import { ProgramsPane } from "./programs-pane.js";
import { ResourcesPane } from "./resources-pane.js";
import { ServersPane } from "./servers-pane.js";
import { Questions, WaitingPane } from "./waiting-pane.js";
import { Pill } from "./widgets.js";
import "./style.css";
import "./forms.css";
import "./layout.css";

/** What a pane draws, and the number on its tab. */
interface Pane {
  readonly id: string;
  readonly title: string;
  readonly view: (props: never) => VNode;
  readonly count?: (page: PageState) => number | undefined;
}

const PANES: readonly Pane[] = [
  { id: "servers", title: "Servers", view: ServersPane, count: ({ state }) => state?.servers.length },
  { id: "catalog", title: "Catalog", view: CatalogPane, count: ({ catalog }) => catalog?.tools.length },
  { id: "calls", title: "Calls", view: CallsPane, count: ({ calls }) => calls.length },
  { id: "programs", title: "Programs", view: ProgramsPane },
  { id: "messages", title: "Messages", view: MessagesPane },
  { id: "waiting", title: "Waiting", view: WaitingPane, count: (page) => page.waiting.filter(isOpen).length },
  { id: "resources", title: "Resources", view: ResourcesPane, count: readableCount },
  { id: "roots", title: "Roots", view: RootsPane },
  { id: "authorization", title: "Authorization", view: AuthorizationPane },
  { id: "state", title: "State", view: SavedStatePane },
];

function readableCount({ catalog }: PageState): number {
  return catalog === null ? 0 : catalog.resources.length + catalog.templates.length + catalog.prompts.length;
}

const paneOfAddress = (): string => PANES.find(({ id }) => location.hash === `#/${id}`)?.id ?? "servers";

function App(): VNode {
  const page = usePage();
  const [pane, setPane] = useState(paneOfAddress);
  const [tool, setTool] = useState<string | null>(null);
  useEffect(() => {
    const onMove = () => setPane(paneOfAddress());
    addEventListener("hashchange", onMove);
    return () => removeEventListener("hashchange", onMove);
  }, []);
  const go = (id: string) => location.assign(`#/${id}`);
  const edit = (name: string) => {
    setTool(name);
    go("catalog");
  };
  if (page.link === "refused") return html`<${Locked} />`;
  const { view } = PANES.find(({ id }) => id === pane)!;
  return html`<header class="top">
      <a class="skip" href="#/${pane}" onClick=${skip}>Skip to the content</a>
      <h1><img src="/icon.svg" alt="" width="26" height="26" />Toolport <span>console</span></h1>
      <${Tabs} page=${page} pane=${pane} go=${go} />
      <${LinkState} page=${page} />
    </header>
    <main tabindex="-1"><${Questions} />
      <div id=${`pane-${pane}`} role="tabpanel" aria-labelledby=${`tab-${pane}`}><${view} picked=${tool} onPick=${setTool} onEdit=${edit} /></div></main>
    <${Notice} notice=${page.notice} />
    ${page.question && html`<${Ask} question=${page.question} />`}`;
}

function skip(event: Event): void {
  event.preventDefault();
  document.querySelector("main")?.focus();
}

/** A single tab stop; arrow keys switch between panes. */
function Tabs({ page, pane, go }: { page: PageState; pane: string; go: (id: string) => void }): VNode {
  // Roots can be edited only if the console answers servers.
  const shown = PANES.filter(({ id }) => id !== "roots" || page.state?.canAnswer);
  const onKeyDown = (event: KeyboardEvent) => {
    // Start from the focused tab: right after a click, `pane` may still be the previous one.
    const at = shown.findIndex(({ id }) => (event.target as Element).id === `tab-${id}`);
    if (at === -1) return;
    const steps: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 };
    const to = steps[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = shown[(to + shown.length) % shown.length];
    if (next === undefined) return;
    go(next.id);
    document.getElementById(`tab-${next.id}`)?.focus();
  };
  useEffect(() => {
    document.getElementById(`tab-${pane}`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [pane]);
  return html`<div class="tabs" role="tablist" aria-label="Panes" onKeyDown=${onKeyDown}>
    ${shown.map(({ id, title, count }) => {
      const number = count?.(page);
      return html`<button key=${id} id=${`tab-${id}`} role="tab" aria-selected=${id === pane} aria-controls=${`pane-${id}`}
        tabindex=${id === pane ? 0 : -1} onClick=${() => go(id)}>
        ${title}${number ? html` <span class="count">${number}</span>` : null}
      </button>`;
    })}
  </div>`;
}

function LinkState({ page }: { page: PageState }): VNode {
  const words = { connecting: "connecting", live: "live", lost: "connection lost", refused: "rejected" };
  const tone = page.link === "live" ? "good" : page.link === "lost" ? "bad" : "busy";
  return html`<div class="link" role="status"><${Pill} tone=${tone}>${words[page.link]}<//></div>`;
}

const NOTICE_MS = 7_000;

function Notice({ notice }: { notice: PageState["notice"] }): VNode {
  useEffect(() => {
    if (notice === null) return;
    const timer = setTimeout(() => change({ notice: null }), NOTICE_MS);
    return () => clearTimeout(timer);
  }, [notice?.id]);
  return html`<div class="notices" role="status" aria-live="polite">
    ${
      notice &&
      html`<p class=${notice.isBad ? "notice bad" : "notice"}>
      <span>${notice.text}</span><button class="quiet" aria-label="Dismiss" onClick=${() => change({ notice: null })}>×</button>
    </p>`
    }
  </div>`;
}

function Ask({ question }: { question: Question }): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return html`<dialog ref=${dialog} aria-labelledby="question" onClose=${() => question.answer(dialog.current?.returnValue === "yes")}>
    <h2 id="question">${question.title}</h2>
    ${question.commands?.map(({ server, command }) => html`<p class="muted small">${server}</p><pre class="code">${command}</pre>`)}
    <p>${question.text}</p>
    <div class="buttons">
      <button onClick=${() => dialog.current?.close("no")} autofocus>Cancel</button>
      <button class="primary" onClick=${() => dialog.current?.close("yes")}>${question.confirm}</button>
    </div>
  </dialog>`;
}

const Locked = (): VNode => html`<main class="locked">
  <img src="/icon.svg" alt="" width="44" height="44" />
  <h1>This console is locked</h1>
  <p>Open the full URL that was printed when the console started, including everything after the <code>#</code>.</p>
</main>`;

start();
render(html`<${App} />`, document.getElementById("app") as HTMLElement);
