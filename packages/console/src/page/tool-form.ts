/** A form for the schema of a tool, or of a question of a server. Fields without a suitable input are edited as JSON. */

import type { Fields } from "@toolport/base";
import { resolveLocalRef } from "@toolport/schemas/internal";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ConsoleFailure } from "../console-api.js";
import { html } from "./html.js";
import { fieldsOf, json, type Option, Select, typed, useField } from "./widgets.js";

/** What is wrong with a field, by its path. */
export type Issue = NonNullable<ConsoleFailure["error"]["issues"]>[number];

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
  readonly shown?: Set<string>;
  /** The form is a question to the user: titles as labels, and an empty text is no answer. */
  readonly isAsked?: boolean;
  readonly onChange: (value: unknown) => void;
}

/** One field or a group of fields. */
function Field(props: FieldProps): VNode {
  const { name, path, must, value, isAsked = false, onChange } = props;
  const schema = resolve(props.schema, props.root);
  const kind = isAsked && schema["type"] === "array" ? kindOfList(schema) : kindOf(schema, props.depth);
  props.shown?.add(path);
  const issue = props.issues.find((each) => each.path === path)?.message;
  const title = isAsked && typeof schema["title"] === "string" ? schema["title"] : name;
  const { id, label, help, shared } = useField(title, must, schema["description"], issue);
  if (Object.hasOwn(GROUPS, kind))
    return html`<fieldset class="group" aria-describedby=${shared["aria-describedby"]}><legend>${label}</legend>${help}
      <${GROUPS[kind]} ...${props} schema=${schema} /></fieldset>`;
  if (kind === "boolean" && must && !isAsked)
    return html`<div class="field check"><input ...${shared} type="checkbox" checked=${value === true}
        onChange=${(event: Event) => onChange((event.target as HTMLInputElement).checked)} />
      <label for=${id}>${label}</label>${help}</div>`;
  return html`<div class="field"><label for=${id}>${label} <span class="type">${typeName(schema)}</span></label>
    <${INPUTS[kind]} ...${props} schema=${schema} shared=${shared} />${help}</div>`;
}

const typeName = (schema: Schema): string =>
  [schema["type"] ?? (schema["enum"] ? "choice" : "json")].flat().join(" or ");

type InputProps = FieldProps & { readonly schema: Schema; readonly shared: object };

const YES_OR_NO = { enum: [true, false], enumNames: ["yes", "no"] };

/** A selection; optional fields, and those of questions, can be left unset. */
function Choice(props: InputProps): VNode {
  const { schema, must, isAsked = false } = props;
  const choices = isAsked ? YES_OR_NO : { enum: [true, false] };
  const options = choicesOf(kindOf(schema, 0) === "boolean" ? choices : schema);
  return html`<${Select} ...${props} must=${must && !isAsked} options=${options} />`;
}

const INPUT_TYPES: Readonly<Record<string, string>> = { email: "email", uri: "url", date: "date" };

function TextInput({ schema, must, value, isAsked = false, onChange, shared }: InputProps): VNode {
  const onInput = (event: Event) =>
    onChange(typed(event) === "" && (isAsked || !must) ? undefined : typed(event));
  const isLong =
    Number(schema["maxLength"] ?? 0) > 200 || (typeof value === "string" && value.includes("\n"));
  const format = String(schema["format"]);
  const hint = [schema["examples"]].flat()[0] ?? (format === "date-time" ? "2026-12-31T09:30:00Z" : "");
  return isLong
    ? html`<textarea ...${shared} rows="4" value=${value ?? ""} onInput=${onInput}></textarea>`
    : html`<input ...${shared} type=${(isAsked && INPUT_TYPES[format]) || "text"} autocomplete="off" spellcheck=${false} value=${value ?? ""}
        placeholder=${typeof hint === "string" ? hint : ""} onInput=${onInput} />`;
}

function NumberInput({ schema, value, onChange, shared }: InputProps): VNode {
  const onInput = (event: Event) => onChange(typed(event) === "" ? undefined : Number(typed(event)));
  return html`<input ...${shared} type="number" step=${schema["type"] === "integer" ? "1" : "any"} value=${value ?? ""} onInput=${onInput} />`;
}

/** Several texts, separated by commas. */
function TextsInput({ value, onChange, shared }: InputProps): VNode {
  const read = (text: string) => (text === "" ? undefined : text.split(",").map((item) => item.trim()));
  return html`<input ...${shared} type="text" autocomplete="off" spellcheck=${false} placeholder="separated by commas"
    value=${Array.isArray(value) ? value.join(", ") : ""} onInput=${(event: Event) => onChange(read(typed(event)))} />`;
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
  texts: TextsInput,
  json: JsonInput,
};

type GroupProps = Omit<FieldProps, "schema"> & { readonly schema: Schema };

/** The properties of an object. */
export function Group(props: GroupProps): VNode {
  const { schema, must, path, onChange } = props;
  const fields = (props.value ?? {}) as Record<string, unknown>;
  const set = (name: string, changed: unknown) => {
    const { [name]: _old, ...rest } = fields;
    const next = changed === undefined ? rest : { ...rest, [name]: changed };
    // Leave out an optional object again when it is empty.
    onChange(must || Object.keys(next).length > 0 ? next : undefined);
  };
  const field = (name: string, property: unknown) =>
    html`<${Field} ...${props} depth=${props.depth + 1} key=${name} name=${name} schema=${property} path=${`${path}.${name}`}
      value=${Object.hasOwn(fields, name) ? fields[name] : undefined} must=${isRequired(schema, name)} onChange=${(changed: unknown) => set(name, changed)} />`;
  return html`${propertiesOf(schema).map(([name, property]) => field(name, property))}`;
}

/** The items of an array. */
function List(props: GroupProps): VNode {
  const { name, schema, root, value, must, depth, path, onChange } = props;
  const items = Array.isArray(value) ? value : [];
  const remove = (at: number) => {
    const left = items.filter((_, index) => index !== at);
    onChange(must || left.length > 0 ? left : undefined);
  };
  const replace = (at: number, item: unknown) =>
    onChange(items.map((old, index) => (index === at ? item : old)));
  return html`${items.map(
    (item, index) => html`<div class="item" key=${`${items.length}-${index}`}>
        <${Field} ...${props} depth=${depth + 1} name=${`${name} ${index + 1}`} schema=${schema["items"]} value=${item} path=${`${path}[${index}]`}
          must=${true} onChange=${(changed: unknown) => replace(index, changed)} />
        <button type="button" class="quiet" aria-label=${`Remove ${name} ${index + 1}`}
          onClick=${() => remove(index)}>Remove</button>
      </div>`,
  )}
    <button type="button" class="quiet add" aria-label=${`Add to ${name}`}
      onClick=${() => onChange([...items, initial(schema["items"], root, true, depth + 1) ?? null])}>+ Add</button>`;
}

/** Several of the items that an array may contain, in their order. */
function Checks({ schema, root, value, onChange }: GroupProps): VNode {
  const options = choicesOf(resolve(schema["items"], root));
  const picked: readonly unknown[] = Array.isArray(value) ? value : [];
  const toggle = (option: unknown) => {
    const all = options.map((each) => each.value);
    const next = all.filter((each) => (each === option) !== picked.includes(each));
    onChange(next.length > 0 ? next : undefined);
  };
  return html`${options.map(
    (option) => html`<label class="inline"><input type="checkbox" checked=${picked.includes(option.value)}
      onChange=${() => toggle(option.value)} /> ${option.title}</label>`,
  )}`;
}

/** Fields that contain several inputs. */
const GROUPS: Readonly<Record<string, unknown>> = { group: Group, list: List, checks: Checks };

export type Schema = Fields;

const MAX_DEPTH = 5;

/** Resolves local references, and unions with null. */
export function resolve(schema: unknown, root: Schema, hops = 0): Schema {
  const fields = fieldsOf(schema);
  if (hops > 8) return {};
  const { $ref, anyOf, oneOf, allOf, ...own } = fields;
  if (typeof $ref === "string") return { ...resolve(resolveLocalRef(root, $ref), root, hops + 1), ...own };
  if (Array.isArray(allOf) && allOf.length === 1) return { ...resolve(allOf[0], root, hops + 1), ...own };
  const branches = [anyOf, oneOf]
    .find(Array.isArray)
    ?.map(fieldsOf)
    .filter(({ type }) => type !== "null");
  if (branches?.length && branches.every((branch) => branch["const"] !== undefined))
    return {
      ...own,
      enum: branches.map((branch) => branch["const"]),
      enumNames: branches.map(({ title }) => title),
    };
  return branches?.length === 1 ? { ...resolve(branches[0], root, hops + 1), ...own } : fields;
}

/** How a question asks for a list. */
const kindOfList = ({ items }: Schema): string =>
  kindOf(resolve(items, {}), 0) === "choice" ? "checks" : "texts";

export function kindOf(schema: Schema, depth: number): string {
  if (Array.isArray(schema["enum"]) || "const" in schema) return "choice";
  const [type, ...others] = [schema["type"]].flat().filter((name) => name !== "null");
  if (others.length > 0) return "json";
  if (type === "string") return "text";
  if (type === "number" || type === "integer") return "number";
  if (type === "boolean") return "boolean";
  if (
    type === "array" &&
    depth < MAX_DEPTH &&
    !Array.isArray(schema["prefixItems"]) &&
    Object.keys(fieldsOf(schema["items"])).length > 0
  )
    return "list";
  if (
    (type === "object" || (type === undefined && "properties" in schema)) &&
    depth < MAX_DEPTH &&
    propertiesOf(schema).length > 0
  )
    return "group";
  return "json";
}

export const propertiesOf = (schema: Schema): [name: string, schema: unknown][] =>
  Object.entries(fieldsOf(schema["properties"]));

const isRequired = (schema: Schema, name: string): boolean =>
  Array.isArray(schema["required"]) && schema["required"].includes(name);

/** The allowed values, with the titles that the schema gives them. */
function choicesOf({ enum: values, const: only, enumNames }: Schema): Option[] {
  const titles = Array.isArray(enumNames) ? enumNames : [];
  const titleOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
  const all: readonly unknown[] = Array.isArray(values) ? values : [only];
  return all.map((value, index) => ({ value, title: String(titles[index] ?? titleOf(value)) }));
}

/** The initial value of a field; undefined to leave it out. */
export function initial(raw: unknown, root: Schema, must: boolean, depth = 0): unknown {
  const schema = resolve(raw, root);
  if (schema["default"] !== undefined) return schema["default"];
  const kind = kindOf(schema, depth);
  if (kind === "group") {
    const entries = propertiesOf(schema).map(([name, property]) => [
      name,
      initial(property, root, isRequired(schema, name), depth + 1),
    ]);
    const values = entries.filter(([, value]) => value !== undefined);
    return must || values.length > 0 ? Object.fromEntries(values) : undefined;
  }
  if (!must) return undefined;
  const firsts: Fields = { choice: choicesOf(schema)[0]?.value, text: "", boolean: false, list: [] };
  return firsts[kind];
}
