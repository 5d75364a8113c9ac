/** The resources pane: reads resources and templates, and gets prompts, with completions from the server. */
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { CatalogView } from "../console-api.js";
import { ask } from "./api.js";
import { ResultView } from "./content-view.js";
import { html } from "./html.js";
import { act, askWithConsent, usePage } from "./page-state.js";
import {
  Bar,
  Empty,
  matches,
  PickList,
  plural,
  Search,
  Split,
  timeOfDay,
  typed,
  useElementId,
} from "./widgets.js";

/** A resource, a template or a prompt, with its arguments. */
type Entry = ReturnType<typeof toEntries>[number];

export function ResourcesPane(): VNode {
  const { catalog } = usePage();
  const [picked, setPicked] = useState<string | null>(null);
  const [filter, setFilter] = useState("");
  const entries = catalog === null ? [] : toEntries(catalog);
  const shown = entries.filter((entry) =>
    matches(filter, entry.kind, entry.server, entry.name, entry.address),
  );
  const entry = entries.find(({ key }) => key === picked);
  const list = html`<div class="filters"><${Search} label="Filter resources and prompts" value=${filter} onChange=${setFilter} /></div>
    <${PickList} label="Resources and prompts" items=${shown} keyOf=${({ key }: Entry) => key} picked=${picked} onPick=${setPicked} draw=${drawRow}
      empty=${html`<${Empty} title="Nothing to read">No connected server offers resources or prompts.<//>`} />`;
  return html`<${Bar} title="Resources and prompts" note=${entries.length} />
    <${Split} isOpen=${entry !== undefined} onBack=${() => setPicked(null)} list=${list}>
      ${entry === undefined ? html`<${Empty} title="Choose a resource or a prompt" />` : html`<${EntryView} key=${entry.key} entry=${entry} />`}
    <//>`;
}

const drawRow = ({ name, kind, server, address }: Entry): VNode =>
  html`<span class="row"><span class="name">${name}</span><span class="chip">${kind}</span></span>
    <span class="muted small mono clamp">${server} · ${address}</span>`;

const toEntries = ({ resources, templates, prompts }: CatalogView) => [
  ...resources.map((info) => toEntry("resource", info.uri, info, [])),
  ...templates.map((info) => toEntry("template", info.uri, info, variables(info.uri))),
  ...prompts.map((info) => toEntry("prompt", info.name, { ...info, mimeType: null }, info.arguments)),
];

const toEntry = (
  kind: "resource" | "template" | "prompt",
  address: string,
  { server, name, description, mimeType }: Omit<CatalogView["resources"][number], "uri">,
  args: CatalogView["prompts"][number]["arguments"],
) => ({ key: `${kind} ${server} ${address}`, kind, server, name, address, description, mimeType, args });

/** The names between the braces of a URI template. */
const variables = (template: string) =>
  [...template.matchAll(/\{[+#./;?&]?([^}]+)\}/g)]
    .flatMap(([, names = ""]) => names.split(","))
    .map((name) => ({ name: name.replace(/[*:].*$/, ""), description: "", required: true }));

function EntryView({ entry }: { entry: Entry }): VNode {
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [outcome, setOutcome] = useState<{ result: unknown } | { error: string } | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const { kind, server, address } = entry;
  const { state } = usePage();
  const watched = state?.subscriptions.find((each) => each.server === server && each.uri === address);
  const canSubscribe = state?.servers.find(({ name }) => name === server)?.canSubscribe;
  useEffect(() => {
    if (watched?.updates) void send();
  }, [watched?.updates]);
  const send = async (event?: Event) => {
    event?.preventDefault();
    setIsBusy(true);
    const args = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
    const bodies = {
      resource: { server, uri: address },
      template: { server, template: address, args },
      prompt: { server, name: address, args },
    };
    try {
      const result = await askWithConsent(kind === "prompt" ? "getPrompt" : "readResource", bodies[kind]);
      if (result !== undefined) setOutcome({ result });
    } catch (error) {
      setOutcome({ error: (error as Error).message });
    }
    setIsBusy(false);
  };
  const verb = kind === "prompt" ? "Get prompt" : "Read";
  return html`<h3 class="title">${entry.name}</h3>
    <p class="muted small mono wrap">${server} · ${address}${entry.mimeType && ` · ${entry.mimeType}`}</p>
    ${entry.description && html`<p class="prose">${entry.description}</p>`}
    <form class="try" onSubmit=${send} aria-label=${`${verb} ${entry.name}`}>
      ${entry.args.map(
        (
          argument,
        ) => html`<${Proposed} key=${argument.name} entry=${entry} argument=${argument} values=${values}
          onChange=${(value: string) => setValues((old) => ({ ...old, [argument.name]: value }))} />`,
      )}
      <div class="buttons"><button class="primary" disabled=${isBusy}>${isBusy ? "Loading…" : verb}</button>
        ${kind === "resource" && canSubscribe && html`<button type="button" onClick=${() => act(watched ? "unsubscribe" : "subscribe", { server, uri: address })}>${watched ? "Unsubscribe" : "Subscribe"}</button>`}</div>
      ${watched && html`<p class="note" role="status">Subscribed. ${watched.updatedAt === null ? "No update yet." : `${plural(watched.updates, "update")}, the last at ${timeOfDay(watched.updatedAt)}.`}</p>`}
      <div class="answer" aria-live="polite">
        ${outcome !== null && "error" in outcome && html`<p class="note bad" role="alert">${outcome.error}</p>`}
        ${outcome !== null && "result" in outcome && html`<${ResultView} result=${outcome.result} />`}
      </div>
    </form>`;
}

interface ProposedProps {
  readonly entry: Entry;
  readonly argument: Entry["args"][number];
  readonly values: Readonly<Record<string, string>>;
  readonly onChange: (value: string) => void;
}

const PAUSE_MS = 200;

/** A field with completions from the server. */
function Proposed({ entry, argument, values, onChange }: ProposedProps): VNode {
  const id = useElementId();
  const { state } = usePage();
  const [proposals, setProposals] = useState<readonly string[]>([]);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const server = state?.servers.find(({ name }) => name === entry.server);
  const canPropose = server?.state === "ready" && server.capabilities.includes("completions");
  const propose = (value: string) => {
    clearTimeout(timer.current);
    if (!canPropose || entry.kind === "resource") return;
    timer.current = window.setTimeout(() => {
      const { server, kind, address } = entry;
      const body = { server, [kind]: address, argument: argument.name, value, context: values };
      // Ignore failures: completions are optional.
      ask("complete", body).then(
        (completion) => setProposals(completion.values),
        () => {},
      );
    }, PAUSE_MS);
  };
  const onInput = (event: Event) => {
    onChange(typed(event));
    propose(typed(event));
  };
  return html`<div class="field"><label for=${id}>${argument.name}${argument.required && html`<b class="must" title="required"> *</b>`}</label>
    <input id=${id} type="text" autocomplete="off" required=${argument.required} list=${`${id}-list`} value=${values[argument.name] ?? ""}
      onFocus=${() => propose(values[argument.name] ?? "")} onInput=${onInput} />
    <datalist id=${`${id}-list`}>${proposals.map((value) => html`<option value=${value} />`)}</datalist>
    ${argument.description && html`<p class="help">${argument.description}</p>`}</div>`;
}
