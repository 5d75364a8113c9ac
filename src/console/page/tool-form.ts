/** A form for a tool's schema. Fields without a suitable input are edited as JSON. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { json } from "./format.js";
import { html } from "./html.js";
import {
  choicesOf,
  initial,
  isRequired,
  kindOf,
  propertiesOf,
  resolve,
  type Schema,
} from "./schema-shape.js";
import { typed, useElementId } from "./widgets.js";

/** What is wrong with a field, by its path. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

interface FieldProps {
  readonly name: string;
  readonly schema: unknown;
  readonly root: Schema;
  readonly value: unknown;
  readonly must: boolean;
  readonly depth: number;
  /** As in the issues: `$.place.latitude`. */
  readonly path: string;
  readonly issues: readonly Issue[];
  /** Collects the paths of all fields. */
  readonly shown: Set<string>;
  readonly onChange: (value: unknown) => void;
}

/** One field or a group of fields. */
function Field(props: FieldProps): VNode {
  const id = useElementId();
  const schema = resolve(props.schema, props.root);
  const kind = kindOf(schema, props.depth);
  const label = html`${props.name}${props.must && html`<b class="must" title="required"> *</b>`}`;
  props.shown.add(props.path);
  const issue = props.issues.find(({ path }) => path === props.path)?.message;
  const about = [schema["description"] && `${id}-help`, issue && `${id}-issue`].filter(Boolean).join(" ");
  const help = html`${typeof schema["description"] === "string" && html`<p class="help" id=${`${id}-help`}>${schema["description"]}</p>`}
    ${issue && html`<p class="issue" id=${`${id}-issue`}>${issue}</p>`}`;
  const shared = { id, "aria-describedby": about || undefined, "aria-invalid": issue !== undefined };
  if (kind === "group" || kind === "list")
    return html`<fieldset class="group"><legend>${label}</legend>${help}
      <${kind === "group" ? Group : List} ...${props} schema=${schema} /></fieldset>`;
  if (kind === "boolean" && props.must)
    return html`<div class="field check"><input ...${shared} type="checkbox" checked=${props.value === true}
        onChange=${(event: Event) => props.onChange((event.target as HTMLInputElement).checked)} />
      <label for=${id}>${label}</label>${help}</div>`;
  return html`<div class="field"><label for=${id}>${label} <span class="type">${typeName(schema)}</span></label>
    <${INPUTS[kind]} ...${props} schema=${schema} shared=${shared} />${help}</div>`;
}

const typeName = (schema: Schema): string =>
  [schema["type"] ?? (schema["enum"] ? "choice" : "json")].flat().join(" or ");

type InputProps = FieldProps & { readonly schema: Schema; readonly shared: object };

/** A selection; optional fields can be left unset. */
function Choice({ schema, must, value, onChange, shared }: InputProps): VNode {
  const choices = kindOf(schema, 0) === "boolean" ? [true, false] : choicesOf(schema);
  const at = choices.findIndex((choice) => JSON.stringify(choice) === JSON.stringify(value));
  const label = (choice: unknown) => (typeof choice === "string" ? choice : JSON.stringify(choice));
  return html`<select ...${shared} value=${String(at)} onChange=${(event: Event) => onChange(choices[Number(typed(event))])}>
    ${!must && html`<option value="-1">not set</option>`}
    ${choices.map((choice, index) => html`<option value=${String(index)} selected=${index === at}>${label(choice)}</option>`)}
  </select>`;
}

function TextInput({ schema, must, value, onChange, shared }: InputProps): VNode {
  const onInput = (event: Event) => onChange(typed(event) === "" && !must ? undefined : typed(event));
  const isLong =
    Number(schema["maxLength"] ?? 0) > 200 || (typeof value === "string" && value.includes("\n"));
  const hint = [schema["examples"]].flat()[0] ?? "";
  return isLong
    ? html`<textarea ...${shared} rows="4" value=${value ?? ""} onInput=${onInput}></textarea>`
    : html`<input ...${shared} type="text" autocomplete="off" spellcheck=${false} value=${value ?? ""}
        placeholder=${typeof hint === "string" ? hint : ""} onInput=${onInput} />`;
}

function NumberInput({ schema, value, onChange, shared }: InputProps): VNode {
  const onInput = (event: Event) => onChange(typed(event) === "" ? undefined : Number(typed(event)));
  return html`<input ...${shared} type="number" step=${schema["type"] === "integer" ? "1" : "any"} value=${value ?? ""} onInput=${onInput} />`;
}

/** A JSON editor. The form can be sent only with valid JSON. */
export function JsonInput({
  value,
  onChange,
  shared,
  rows = 4,
}: Pick<InputProps, "value" | "onChange" | "shared"> & { rows?: number }): VNode {
  const [text, setText] = useState(value === undefined ? "" : json(value));
  const onInput = (event: Event) => {
    const area = event.target as HTMLTextAreaElement;
    setText(area.value);
    try {
      onChange(area.value.trim() === "" ? undefined : JSON.parse(area.value));
      area.setCustomValidity("");
    } catch {
      area.setCustomValidity("This is not valid JSON");
    }
  };
  return html`<textarea ...${shared} class="mono" rows=${rows} spellcheck=${false} value=${text} onInput=${onInput}></textarea>`;
}

const INPUTS: Readonly<Record<string, unknown>> = {
  choice: Choice,
  boolean: Choice,
  text: TextInput,
  number: NumberInput,
  json: JsonInput,
};

/** The properties of an object. */
export function Group({
  schema,
  root,
  value,
  must,
  depth,
  path,
  issues,
  shown,
  onChange,
}: FieldProps & { readonly schema: Schema }): VNode {
  const fields = (value ?? {}) as Record<string, unknown>;
  const set = (name: string, changed: unknown) => {
    const { [name]: _old, ...rest } = fields;
    const next = changed === undefined ? rest : { ...rest, [name]: changed };
    // Leave out an optional object again when it is empty.
    onChange(must || Object.keys(next).length > 0 ? next : undefined);
  };
  return html`${propertiesOf(schema).map(
    ([
      name,
      property,
    ]) => html`<${Field} key=${name} name=${name} schema=${property} root=${root} depth=${depth + 1} path=${`${path}.${name}`} issues=${issues} shown=${shown}
      value=${fields[name]} must=${isRequired(schema, name)} onChange=${(changed: unknown) => set(name, changed)} />`,
  )}`;
}

/** The items of an array. */
function List({
  name,
  schema,
  root,
  value,
  must,
  depth,
  path,
  issues,
  shown,
  onChange,
}: FieldProps & { readonly schema: Schema }): VNode {
  const items = Array.isArray(value) ? value : [];
  const remove = (at: number) => {
    const left = items.filter((_, index) => index !== at);
    onChange(must || left.length > 0 ? left : undefined);
  };
  const replace = (at: number, item: unknown) =>
    onChange(items.map((old, index) => (index === at ? item : old)));
  return html`${items.map(
    (item, index) => html`<div class="item" key=${`${items.length}-${index}`}>
        <${Field} name=${`${name} ${index + 1}`} schema=${schema["items"]} root=${root} depth=${depth + 1} value=${item} path=${`${path}[${index}]`} issues=${issues} shown=${shown}
          must=${true} onChange=${(changed: unknown) => replace(index, changed)} />
        <button type="button" class="quiet" aria-label=${`Remove ${name} ${index + 1}`}
          onClick=${() => remove(index)}>Remove</button>
      </div>`,
  )}
    <button type="button" class="quiet add" aria-label=${`Add to ${name}`}
      onClick=${() => onChange([...items, initial(schema["items"], root, true, depth + 1) ?? null])}>+ Add</button>`;
}
