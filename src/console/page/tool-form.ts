/** A form for a tool's schema. Fields without a suitable input are edited as JSON. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ConsoleFailure } from "../console-api.js";
import { html } from "./html.js";
import { json, Select, typed, useField } from "./widgets.js";

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
  readonly shown: Set<string>;
  readonly onChange: (value: unknown) => void;
}

/** One field or a group of fields. */
function Field(props: FieldProps): VNode {
  const { path, must, value, onChange } = props;
  const schema = resolve(props.schema, props.root);
  const kind = kindOf(schema, props.depth);
  props.shown.add(path);
  const issue = props.issues.find((each) => each.path === path)?.message;
  const { id, label, help, shared } = useField(props.name, must, schema["description"], issue);
  if (kind === "group" || kind === "list")
    return html`<fieldset class="group"><legend>${label}</legend>${help}
      <${kind === "group" ? Group : List} ...${props} schema=${schema} /></fieldset>`;
  if (kind === "boolean" && must)
    return html`<div class="field check"><input ...${shared} type="checkbox" checked=${value === true}
        onChange=${(event: Event) => onChange((event.target as HTMLInputElement).checked)} />
      <label for=${id}>${label}</label>${help}</div>`;
  return html`<div class="field"><label for=${id}>${label} <span class="type">${typeName(schema)}</span></label>
    <${INPUTS[kind]} ...${props} schema=${schema} shared=${shared} />${help}</div>`;
}

const typeName = (schema: Schema): string =>
  [schema["type"] ?? (schema["enum"] ? "choice" : "json")].flat().join(" or ");

type InputProps = FieldProps & { readonly schema: Schema; readonly shared: object };

/** A selection; optional fields can be left unset. */
function Choice(props: InputProps): VNode {
  const choices = kindOf(props.schema, 0) === "boolean" ? [true, false] : choicesOf(props.schema);
  const title = (choice: unknown) => (typeof choice === "string" ? choice : JSON.stringify(choice));
  return html`<${Select} ...${props} options=${choices.map((value) => ({ value, title: title(value) }))} />`;
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

type GroupProps = Omit<FieldProps, "schema"> & { readonly schema: Schema };

/** What the fields inside a field get from it. */
const passed = ({ root, depth, issues, shown }: GroupProps) => ({ root, depth: depth + 1, issues, shown });

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
    html`<${Field} ...${passed(props)} key=${name} name=${name} schema=${property} path=${`${path}.${name}`}
      value=${fields[name]} must=${isRequired(schema, name)} onChange=${(changed: unknown) => set(name, changed)} />`;
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
        <${Field} ...${passed(props)} name=${`${name} ${index + 1}`} schema=${schema["items"]} value=${item} path=${`${path}[${index}]`}
          must=${true} onChange=${(changed: unknown) => replace(index, changed)} />
        <button type="button" class="quiet" aria-label=${`Remove ${name} ${index + 1}`}
          onClick=${() => remove(index)}>Remove</button>
      </div>`,
  )}
    <button type="button" class="quiet add" aria-label=${`Add to ${name}`}
      onClick=${() => onChange([...items, initial(schema["items"], root, true, depth + 1) ?? null])}>+ Add</button>`;
}

export type Schema = Readonly<Record<string, unknown>>;
export type FieldKind = "choice" | "text" | "number" | "boolean" | "list" | "group" | "json";

const MAX_DEPTH = 5;

const asSchema = (value: unknown): Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : {};

/** Resolves local references, and unions with null. */
export function resolve(schema: unknown, root: Schema, hops = 0): Schema {
  const found = asSchema(schema);
  if (hops > 8) return {};
  const { $ref, anyOf, oneOf, allOf, ...own } = found;
  if (typeof $ref === "string") return { ...resolve(pointed($ref, root), root, hops + 1), ...own };
  if (Array.isArray(allOf) && allOf.length === 1) return { ...resolve(allOf[0], root, hops + 1), ...own };
  const branches = [anyOf, oneOf]
    .find(Array.isArray)
    ?.filter((branch) => asSchema(branch)["type"] !== "null");
  if (branches?.length === 1) return { ...resolve(branches[0], root, hops + 1), ...own };
  const constants = branches?.map((branch) => asSchema(branch)["const"]);
  if (constants?.length && constants.every((value) => value !== undefined))
    return { ...own, enum: constants };
  return found;
}

function pointed(reference: string, root: Schema): unknown {
  if (!reference.startsWith("#")) return undefined;
  const steps = reference
    .slice(1)
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  return steps.reduce<unknown>(
    (at, step) => (Object.hasOwn(asSchema(at), step) ? asSchema(at)[step] : undefined),
    root,
  );
}

export function kindOf(schema: Schema, depth: number): FieldKind {
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
    Object.keys(asSchema(schema["items"])).length > 0
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
  Object.entries(asSchema(schema["properties"]));

export const isRequired = (schema: Schema, name: string): boolean =>
  Array.isArray(schema["required"]) && schema["required"].includes(name);

/** The allowed values. */
const choicesOf = (schema: Schema): readonly unknown[] =>
  Array.isArray(schema["enum"]) ? schema["enum"] : [schema["const"]];

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
    const given = entries.filter(([, value]) => value !== undefined);
    return must || given.length > 0 ? Object.fromEntries(given) : undefined;
  }
  if (!must) return undefined;
  const firsts: Partial<Record<FieldKind, unknown>> = {
    choice: choicesOf(schema)[0],
    text: "",
    boolean: false,
    list: [],
  };
  return firsts[kind];
}
