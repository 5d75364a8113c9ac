/** Open questions of servers, above every pane: forms, web pages, and model completions that the user writes. The server of the console checks the values. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { QuestionView, ServerQuestionView } from "../console-api.js";
import { ask, type Failure } from "./api.js";
import { Code } from "./content-view.js";
import { html } from "./html.js";
import { loadQuestions, usePage } from "./page-state.js";
import { isPage } from "./port-panes.js";
import { Group, type Issue, propertiesOf, type Schema } from "./tool-form.js";
import { json, typed, useElementId } from "./widgets.js";

export function Questions(): VNode | null {
  const { questions } = usePage();
  if (questions.length === 0) return null;
  return html`<section class="questions" aria-label="Questions of servers">
    ${questions.map((asked) => html`<${Question} key=${asked.id} asked=${asked} />`)}
  </section>`;
}

type Of<Kind extends ServerQuestionView["kind"]> = Extract<ServerQuestionView, { kind: Kind }>;

interface AnswerProps<Kind extends ServerQuestionView["kind"]> {
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
    await loadQuestions();
  };
  const { server, tool, principal } = asked;
  const who = `${server}${tool === null ? "" : ` (${tool})`}${principal === null ? "" : ` for ${principal}`}`;
  const shared = { asked, failure, isBusy, answer };
  return html`<article class="card asking" aria-label=${`Question of ${server}`}>
    <h3>${who} ${asked.kind === "sampling" ? "asks for a completion of a model" : "asks"}</h3>
    ${asked.kind === "sampling" ? html`<${Sampling} ...${shared} />` : html`<${Elicitation} ...${shared} />`}
  </article>`;
}

function Elicitation({ asked, failure, isBusy, answer }: AnswerProps<"elicitation">): VNode {
  const { question } = asked;
  const [content, setContent] = useState<Content>(() =>
    question.mode === "form" ? defaultsOf(question.requestedSchema) : {},
  );
  const issues = failure?.detail.issues ?? [];
  const send = (event: Event) => {
    event.preventDefault();
    return answer({ action: "accept", ...(question.mode === "form" && { content }) });
  };
  return html`<form class="try" novalidate onSubmit=${send} aria-label=${`Answer ${asked.server}`}>
    <p class="message">${question.message}</p>
    ${
      question.mode === "form"
        ? html`<${QuestionForm} question=${question} content=${content} issues=${issues} onChange=${setContent} />`
        : html`<${LinkedPage} asked=${question} />`
    }
    ${failure && issues.length === 0 && html`<p class="note bad" role="alert">${failure.message}</p>`}
    <div class="buttons">
      <button class="primary" disabled=${isBusy}>${question.mode === "url" ? "I have opened it" : "Send answer"}</button>
      <button type="button" disabled=${isBusy} onClick=${() => answer({ action: "decline" })}>Decline</button>
      <button type="button" disabled=${isBusy} onClick=${() => answer({ action: "cancel" })}>Cancel</button>
    </div>
  </form>`;
}

/** The whole URL and its host. Only a click opens it. */
export const LinkedPage = ({ asked }: { asked: Extract<QuestionView, { mode: "url" }> }): VNode =>
  html`<p>Open a page of <b>${asked.host}</b>${asked.isPunycode && html` <span class="note bad">Careful: this name may imitate another host.</span>`}</p>
    <p class="mono wrap">${isPage(asked.url) ? html`<a href=${asked.url} target="_blank" rel="noopener noreferrer">${asked.url}</a>` : asked.url}</p>`;

function Sampling({ asked, failure, isBusy, answer }: AnswerProps<"sampling">): VNode {
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

export type Content = Readonly<Record<string, unknown>>;

/** The defaults of a form. */
export const defaultsOf = (schema: unknown): Content =>
  Object.fromEntries(
    propertiesOf(schema as Schema).flatMap(([name, field]) => {
      const { default: value } = field as { default?: unknown };
      return value === undefined ? [] : [[name, value]];
    }),
  );

export interface QuestionFormProps {
  readonly question: Extract<QuestionView, { mode: "form" }>;
  readonly content: Content;
  /** Their paths are `<key>.content.<field>`. */
  readonly issues: readonly Issue[];
  readonly onChange: (content: Content) => void;
}

export const QuestionForm = ({ question, ...props }: QuestionFormProps): VNode =>
  html`<${Group} name="" schema=${question.requestedSchema} root=${question.requestedSchema} value=${props.content} must=${true} depth=${0}
    path=${`${question.key}.content`} issues=${props.issues} isAsked=${true} onChange=${props.onChange} />`;
