/**
 * What waits for the user: the pane with the calls that wait for an answer, an approval or a login, and, above every pane, the open
 * questions of servers (forms, web pages, model completions that the user writes). The server of the console checks the values.
 */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { QuestionView, ServerQuestionView, WaitingView } from "../console-api.js";
import { ask, type Failure } from "./api.js";
import { Code, ResultLine, ResultView } from "./content-view.js";
import { html } from "./html.js";
import {
  act,
  askWithConsent,
  changeWaiting,
  dismissWaiting,
  isOpen,
  load,
  loadWaiting,
  question,
  usePage,
  type WaitingRow,
} from "./page-state.js";
import { isPage, logIn } from "./port-panes.js";
import { Tasks } from "./tasks-view.js";
import { Group, type Issue, propertiesOf, type Schema } from "./tool-form.js";
import { Bar, Empty, fromNow, json, Pill, typed, useElementId, useSeconds } from "./widgets.js";

const REASONS = { input: "needs an answer", approval: "needs an approval", login: "needs a login" } as const;

export function WaitingPane(): VNode {
  const { waiting, state } = usePage();
  useSeconds(waiting.some(isOpen));
  const principal = state?.principal ?? null;
  return html`<${Bar} title="Waiting" note=${principal === null ? "Calls of this program" : `Calls of ${principal}`} />
    ${waiting.length === 0 && html`<${Empty} title="No call waits">Calls that were suspended appear here, also those of other processes with the same store.<//>`}
    <${Tasks} />
    <ul class="waiting">
      ${waiting.map((row) => html`<li key=${row.slot}><${WaitingCall} row=${row} principal=${principal} /></li>`)}
    </ul>`;
}

/** Sends a decision. The next round takes the place of this one. */
async function resume({ slot, call }: WaitingRow, decision: object): Promise<void> {
  changeWaiting(slot, { isBusy: true, isTouched: true, failure: null, note: null });
  try {
    const answer = await askWithConsent("resume", { id: call.id, ...decision });
    if (answer === undefined) changeWaiting(slot, { isBusy: false });
    else if ("result" in answer) {
      lastDecisions.delete(call.id);
      changeWaiting(slot, { isBusy: false, result: answer.result });
    } else {
      const { next } = answer;
      const note =
        next.id === call.id ? "The login is not finished yet." : "The call goes on, and needs more.";
      changeWaiting(slot, { isBusy: false, isTouched: false, isGone: false, call: next, note });
    }
  } catch (error) {
    changeWaiting(slot, { isBusy: false, failure: error as Failure });
    // Shows whether the call still waits.
    await loadWaiting();
  }
}

function WaitingCall({ row, principal }: { row: WaitingRow; principal: string | null }): VNode {
  const { call, failure, note, slot } = row;
  const id = useElementId();
  const isEnded = !isOpen(row);
  return html`<article class="card" aria-labelledby=${id}>
    <header>
      <h3 class="mono wrap" id=${id}>${call.tool}</h3>
      <${Pill} tone=${isEnded ? "calm" : "wait"}>${isEnded ? (row.result === undefined ? "no longer waits" : "finished") : REASONS[call.reason]}<//>
    </header>
    <p class="line">
      <span>${principal === null ? "for this program" : html`for <b>${principal}</b>`}</span>
      <span>sent to ${call.server}</span>
      ${!isEnded && html`<time title=${new Date(call.expiresAt).toLocaleString()}>expires ${fromNow(call.expiresAt)}; the server may expire it earlier</time>`}
    </p>
    <details open=${call.reason === "approval"}><summary>Arguments</summary><${Code} label="Arguments">${json(call.args)}<//></details>
    ${note && !isEnded && html`<p class="note" role="status">${note}</p>`}
    ${failure && html`<${Problem} row=${row} failure=${failure} />`}
    ${row.result !== undefined && html`<div class="answer" aria-live="polite"><${ResultLine} result=${row.result} /><${ResultView} result=${row.result} tool=${call.tool} /></div>`}
    ${isEnded ? html`<footer><button onClick=${() => dismissWaiting(slot)}>Dismiss</button></footer>` : html`<${Decision} key=${call.id} row=${row} />`}
  </article>`;
}

/** Codes after which the call cannot be continued. */
const OVER = ["SUSPENSION_UNKNOWN", "REFUSED", "SUSPENSION_MOVED", "TOOL_CHANGED"];

function Problem({ row, failure }: { row: WaitingRow; failure: Failure }): VNode {
  const again = async () => {
    const isSure = await question({
      title: `Send ${row.call.tool} again?`,
      text: "The call was sent, and its result was lost. The tool may have run already, and would then run twice.",
      confirm: "Send again",
    });
    if (isSure) await resume(row, { ...lastDecisions.get(row.call.id), again: true });
  };
  const isLost = failure.code === "OUTCOME_UNKNOWN" || (row.isGone && !OVER.includes(failure.code));
  const { issues = [] } = failure.detail;
  if (failure.code === "REFUSED" && row.call.reason === "approval")
    return html`<p class="note" role="alert">The call was not approved. Nothing was sent.</p>`;
  if (failure.code === "INVALID_ARGUMENTS" && issues.length > 0)
    return html`<div class="note bad" role="alert"><p>Nothing was sent. Correct the marked fields.</p>
      <ul>${issues.filter(({ path }) => !path.includes(".content.")).map(({ path, message }) => html`<li><span class="mono">${path}</span> ${message}</li>`)}</ul></div>`;
  return html`<div class="note bad" role="alert"><p>${failure.message}</p>
    ${isLost && html`<p>The tool may have run. Find out before you send the call again.</p><button onClick=${again}>Send again…</button>`}
    ${failure.code === "SUSPENSION_EXPIRED" && html`<button onClick=${() => resume(row, { restart: true })}>Begin anew</button>`}
  </div>`;
}

/** What was decided last, by call, to send it again. */
const lastDecisions = new Map<string, object>();

function Decision({ row }: { row: WaitingRow }): VNode {
  const { call, isBusy } = row;
  const decide = (decision: object) => {
    lastDecisions.set(call.id, decision);
    return resume(row, decision);
  };
  const discard = async () => {
    const text = "The call is given up. Nothing more is sent to the server.";
    if (!(await question({ title: `Discard ${call.tool}?`, text, confirm: "Discard" }))) return;
    await act("discard", { id: call.id });
    await loadWaiting();
  };
  const shared = { call, isBusy, decide };
  return html`${call.reason === "input" && html`<${Answer} ...${shared} issues=${row.failure?.detail.issues ?? []} onTouch=${() => row.isTouched || changeWaiting(row.slot, { isTouched: true })} />`}
    ${
      call.reason === "approval" &&
      html`<div class="buttons">
        <button class="primary" disabled=${isBusy} onClick=${() => decide({ approve: true })}>Approve</button>
        <button disabled=${isBusy} onClick=${() => decide({ approve: false })}>Refuse</button>
      </div>`
    }
    ${call.reason === "login" && html`<${Login} ...${shared} />`}
    <footer><button class="quiet" disabled=${isBusy} aria-label=${`Discard ${call.tool}`} onClick=${discard}>Discard</button></footer>`;
}

interface DecisionProps {
  readonly call: WaitingView;
  readonly isBusy: boolean;
  readonly decide: (decision: object) => Promise<void>;
}

interface AnswerProps extends DecisionProps {
  readonly issues: readonly Issue[];
  readonly onTouch: () => void;
}

function Answer({ call, isBusy, decide, issues, onTouch }: AnswerProps): VNode {
  const { questions } = call;
  const [contents, setContents] = useState<Readonly<Record<string, Content>>>(() =>
    Object.fromEntries(questions.map((asked) => [asked.key, defaultsOf(asked)])),
  );
  const [declined, setDeclined] = useState<readonly string[]>([]);
  const isMany = questions.length > 1;
  const all = (action: string) =>
    decide({ answers: Object.fromEntries(questions.map(({ key }) => [key, { action }])) });
  const accept = (event: Event) => {
    event.preventDefault();
    const answers = questions.map(({ key, mode }) => {
      if (declined.includes(key)) return [key, { action: "decline" }];
      return [key, { action: "accept", ...(mode === "form" && { content: contents[key] }) }];
    });
    return decide({ answers: Object.fromEntries(answers) });
  };
  const change = (key: string) => (content: Content) => {
    onTouch();
    setContents({ ...contents, [key]: content });
  };
  const toggle = (key: string) =>
    setDeclined(declined.includes(key) ? declined.filter((other) => other !== key) : [...declined, key]);
  return html`<form class="try" novalidate onSubmit=${accept} aria-label=${`Answer ${call.tool}`}>
    ${questions.map(
      (asked) => html`<fieldset class="group" key=${asked.key}>
        <legend>${call.server} asks</legend>
        <${QuestionBody} question=${asked} content=${contents[asked.key] ?? {}} issues=${issues} onChange=${change(asked.key)} />
        ${isMany && html`<label class="inline"><input type="checkbox" checked=${declined.includes(asked.key)} onChange=${() => toggle(asked.key)} /> Decline this question</label>`}
      </fieldset>`,
    )}
    <${AnswerButtons} isPage=${questions.every(({ mode }) => mode === "url")} isBusy=${isBusy} onEnd=${all} />
  </form>`;
}

function Login({ call, isBusy, decide }: DecisionProps): VNode {
  const { server, authUrl } = call;
  return html`<p>${server} wants the user to log in first.</p>
    ${authUrl !== null && isPage(authUrl) && html`<p class="wrap">Login page of the program that made the call: <a href=${authUrl} target="_blank" rel="noopener noreferrer">${new URL(authUrl).host}</a></p>`}
    <div class="buttons">
      <button class="primary" disabled=${isBusy} aria-label=${`Log in to ${server}`} onClick=${() => logIn(server)}>Log in</button>
      <button disabled=${isBusy} onClick=${() => decide({})}>Continue</button>
    </div>`;
}

export function Questions(): VNode | null {
  const { questions } = usePage();
  if (questions.length === 0) return null;
  return html`<section class="questions" aria-label="Questions of servers">
    ${questions.map((asked) => html`<${Question} key=${asked.id} asked=${asked} />`)}
  </section>`;
}

type Of<Kind extends ServerQuestionView["kind"]> = Extract<ServerQuestionView, { kind: Kind }>;

interface QuestionProps<Kind extends ServerQuestionView["kind"]> {
  readonly asked: Of<Kind>;
  readonly failure: Failure | null;
  readonly isBusy: boolean;
  readonly answer: (body: object) => Promise<void>;
}

function Question({ asked }: { asked: ServerQuestionView }): VNode {
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const answer = async (body: object) => {
    setIsBusy(true);
    try {
      await ask("answer", { id: asked.id, ...body });
    } catch (error) {
      setFailure(error as Failure);
    }
    setIsBusy(false);
    await load("questions");
  };
  const { server, tool, principal } = asked;
  const who = `${server}${tool === null ? "" : ` (${tool})`}${principal === null ? "" : ` for ${principal}`}`;
  const shared = { asked, failure, isBusy, answer };
  return html`<article class="card asking" aria-label=${`Question of ${server}`}>
    <h3>${who} ${asked.kind === "sampling" ? "asks for a completion of a model" : "asks"}</h3>
    ${asked.kind === "sampling" ? html`<${Sampling} ...${shared} />` : html`<${Elicitation} ...${shared} />`}
  </article>`;
}

function Elicitation({ asked, failure, isBusy, answer }: QuestionProps<"elicitation">): VNode {
  const { question } = asked;
  const [content, setContent] = useState<Content>(() => defaultsOf(question));
  const issues = failure?.detail.issues ?? [];
  const send = (event: Event) => {
    event.preventDefault();
    return answer({ action: "accept", ...(question.mode === "form" && { content }) });
  };
  return html`<form class="try" novalidate onSubmit=${send} aria-label=${`Answer ${asked.server}`}>
    <${QuestionBody} question=${question} content=${content} issues=${issues} onChange=${setContent} />
    ${failure && issues.length === 0 && html`<p class="note bad" role="alert">${failure.message}</p>`}
    <${AnswerButtons} isPage=${question.mode === "url"} isBusy=${isBusy} onEnd=${(action: string) => answer({ action })} />
  </form>`;
}

interface AnswerButtonsProps {
  readonly isPage: boolean;
  readonly isBusy: boolean;
  readonly onEnd: (action: "decline" | "cancel") => unknown;
}

const AnswerButtons = ({ isPage: isOpened, isBusy, onEnd }: AnswerButtonsProps): VNode =>
  html`<div class="buttons">
    <button class="primary" disabled=${isBusy}>${isBusy ? "Sending…" : isOpened ? "I have opened it" : "Send answer"}</button>
    <button type="button" disabled=${isBusy} onClick=${() => onEnd("decline")}>Decline</button>
    <button type="button" disabled=${isBusy} onClick=${() => onEnd("cancel")}>Cancel</button>
  </div>`;

function Sampling({ asked, failure, isBusy, answer }: QuestionProps<"sampling">): VNode {
  const id = useElementId();
  const [text, setText] = useState("");
  const [model, setModel] = useState("");
  const send = (event: Event) => {
    event.preventDefault();
    return answer({ action: "accept", text, model });
  };
  return html`<form class="try" onSubmit=${send} aria-label=${`Answer ${asked.server}`}>
    <p class="muted small">The console has no model. Write what a model would answer, or decline.</p>
    <${Code} label="Request of the server">${json(asked.request)}<//>
    <div class="field"><label for=${id}>Answer of the model<b class="must" title="required"> *</b></label>
      <textarea id=${id} rows="3" required value=${text} onInput=${(event: Event) => setText(typed(event))}></textarea></div>
    <div class="field"><label for=${`${id}-model`}>Name of the model</label>
      <input id=${`${id}-model`} type="text" placeholder="console" value=${model} onInput=${(event: Event) => setModel(typed(event))} /></div>
    ${failure && html`<p class="note bad" role="alert">${failure.message}</p>`}
    <div class="buttons">
      <button class="primary" disabled=${isBusy}>Send answer</button>
      <button type="button" disabled=${isBusy} onClick=${() => answer({ action: "decline" })}>Decline</button>
    </div>
  </form>`;
}

type Content = Readonly<Record<string, unknown>>;

/** The defaults of a form. */
const defaultsOf = (question: QuestionView): Content =>
  Object.fromEntries(
    propertiesOf(question.mode === "form" ? (question.requestedSchema as Schema) : {}).flatMap(
      ([name, field]) => {
        const { default: value } = field as { default?: unknown };
        return value === undefined ? [] : [[name, value]];
      },
    ),
  );

interface QuestionBodyProps {
  readonly question: QuestionView;
  readonly content: Content;
  /** Their paths are `<key>.content.<field>`. */
  readonly issues: readonly Issue[];
  readonly onChange: (content: Content) => void;
}

/** The message with its form, or with the whole URL of a page and its host. Only a click opens the page. */
function QuestionBody({ question, content, issues, onChange }: QuestionBodyProps): VNode {
  const message = html`<p class="message">${question.message}</p>`;
  if (question.mode === "form")
    return html`${message}<${Group} name="" schema=${question.requestedSchema} root=${question.requestedSchema} value=${content} must=${true} depth=${0}
      path=${`${question.key}.content`} issues=${issues} isAsked=${true} onChange=${onChange} />`;
  const { url, host, isPunycode } = question;
  return html`${message}<p>Open a page of <b>${host}</b>${isPunycode && html` <span class="note bad">Careful: this name may imitate another host.</span>`}</p>
    <p class="mono wrap">${isPage(url) ? html`<a href=${url} target="_blank" rel="noopener noreferrer">${url}</a>` : url}</p>`;
}
