/** Open questions of servers, above every pane: forms, web pages, and model completions that the user writes. The server of the console checks the values. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { QuestionView, ServerQuestionView } from "../console-api.js";
import { ask, type Failure } from "./api.js";
import { isPage } from "./authorization-pane.js";
import { Code } from "./content-view.js";
import { html } from "./html.js";
import { loadQuestions, usePage } from "./page-state.js";
import { type Issue, isRequired, propertiesOf, type Schema } from "./tool-form.js";
import { json, type Option, Select, typed, useElementId, useField } from "./widgets.js";

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

export function QuestionForm({ question, content, issues, onChange }: QuestionFormProps): VNode {
  const schema: Schema = question.requestedSchema;
  const set = (name: string, value: unknown) => {
    const { [name]: _old, ...others } = content;
    onChange(value === undefined ? others : { ...others, [name]: value });
  };
  return html`${propertiesOf(schema).map(
    ([name, field]) => html`<${Field} key=${name} name=${name} field=${field} must=${isRequired(schema, name)}
      value=${Object.hasOwn(content, name) ? content[name] : undefined}
      issue=${issues.find(({ path }) => path === `${question.key}.content.${name}`)?.message}
      onChange=${(value: unknown) => set(name, value)} />`,
  )}`;
}

interface FieldProps {
  readonly name: string;
  readonly field: Schema;
  readonly must: boolean;
  readonly value: unknown;
  readonly issue: string | undefined;
  readonly onChange: (value: unknown) => void;
}

function Field(props: FieldProps): VNode {
  const { name, field, must, issue, value, onChange } = props;
  const { title, type, description, format } = field;
  const parts = useField(typeof title === "string" ? title : name, must, description, issue);
  const { id, label, help, shared } = parts;
  const options = type === "boolean" ? BOOLEANS : choicesOf(field);
  if (type === "array" && options !== undefined)
    return html`<fieldset class="group" aria-describedby=${shared["aria-describedby"]}><legend>${label}</legend>
      <${Checks} value=${value} options=${options} onChange=${onChange} />${help}</fieldset>`;
  const isNumber = type === "number" || type === "integer";
  const onInput = (event: Event) => onChange(toValue(typed(event), type));
  const text = Array.isArray(value) ? value.join(", ") : (value ?? "");
  const input = () =>
    type === "string" && Number(field["maxLength"] ?? 0) > 200
      ? html`<textarea ...${shared} rows="4" value=${text} onInput=${onInput}></textarea>`
      : html`<input ...${shared} type=${isNumber ? "number" : (KINDS[String(format)] ?? "text")} step=${type === "integer" ? "1" : "any"} autocomplete="off"
          spellcheck=${false} placeholder=${HINTS[type === "array" ? "array" : String(format)] ?? ""} value=${text} onInput=${onInput} />`;
  return html`<div class="field"><label for=${id}>${label} <span class="type">${String(type)}</span></label>
    ${options === undefined ? input() : html`<${Select} shared=${shared} options=${options} value=${value} onChange=${onChange} />`}${help}</div>`;
}

/** An empty field is left out. */
function toValue(text: string, type: unknown): unknown {
  if (text === "") return undefined;
  if (type === "number" || type === "integer") return Number(text);
  return type === "array" ? text.split(",").map((item) => item.trim()) : text;
}

interface ChecksProps extends Pick<FieldProps, "value" | "onChange"> {
  readonly options: readonly Option[];
}

function Checks({ value, options, onChange }: ChecksProps): VNode {
  const picked: readonly unknown[] = Array.isArray(value) ? value : [];
  const toggle = (option: unknown) => {
    // In the order of the options.
    const next = options
      .map((each) => each.value)
      .filter((each) => (each === option) !== picked.includes(each));
    onChange(next.length > 0 ? next : undefined);
  };
  return html`${options.map(
    (option) => html`<label class="inline"><input type="checkbox" checked=${picked.includes(option.value)}
      onChange=${() => toggle(option.value)} /> ${option.title}</label>`,
  )}`;
}

const BOOLEANS: readonly Option[] = [
  { value: true, title: "yes" },
  { value: false, title: "no" },
];
const KINDS: Readonly<Record<string, string>> = { email: "email", uri: "url", date: "date" };
const HINTS: Readonly<Record<string, string>> = {
  "date-time": "2026-12-31T09:30:00Z",
  array: "separated by commas",
};

/** Choices are plain values, or objects with a title. */
function choicesOf(field: Schema): readonly Option[] | undefined {
  const items = (field["items"] ?? {}) as Schema;
  const plain = [field["enum"], items["enum"]].find(Array.isArray);
  if (plain !== undefined) {
    const names = Array.isArray(field["enumNames"]) ? field["enumNames"] : [];
    return plain.map((value, index) => ({ value, title: String(names[index] ?? value) }));
  }
  return [field["oneOf"], items["anyOf"]]
    .find(Array.isArray)
    ?.map((option: { const?: unknown; title?: unknown } | null) => ({
      value: option?.const,
      title: String(option?.title ?? option?.const),
    }));
}
