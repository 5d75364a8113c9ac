/** Describes a tool as text: description, arguments, and an example call. */

import type { JsonSchema } from "../model/listed-tool.js";
import type { ToolInfo } from "../model/tool-info.js";
import { isObject } from "../schema/json-schema.js";
import { resolveLocalRef } from "../schema/local-ref.js";
import { formatTable, wrapWords } from "../util/format-table.js";
import type { CommandContext } from "./command.js";
import { shellWord } from "./format-error.js";
import { cell, oneLine, plainJson, plainLine, plainText } from "./plain-text.js";

const MAX_SIGNATURE = 60;
const MIN_LIST = 12;

/** `forecast(city, days?)` */
export function signature({ sourceName, inputSchema }: ToolInfo): string {
  const words = argumentsOf(inputSchema).map(({ name, isRequired }) => (isRequired ? name : `${name}?`));
  const list = words.join(", ");
  // The arguments may be cut, but not the name: users copy it.
  return `${plainLine(sourceName)}(${oneLine(list, Math.max(MIN_LIST, MAX_SIGNATURE - sourceName.length))})`;
}

/** Escaped and coloured lines. */
export function describeTool(
  tool: ToolInfo,
  { paint, typed, columns }: Pick<CommandContext, "paint" | "typed" | "columns">,
): string[] {
  const { server, sourceName, name, title, description, inputSchema, outputSchema, annotations } = tool;
  const given = argumentsOf(inputSchema);
  const hints = Object.entries(annotations ?? {}).filter(([key, value]) => key !== "title" && value === true);
  const example = `toolport call ${exampleOf(server, sourceName, given)}`;
  return [
    paint("bold", cell(`${server}.${sourceName}`)),
    ...(title === undefined ? [] : [cell(title)]),
    ...(description === undefined ? [] : ["", ...paragraphs(description, columns)]),
    "",
    ...(given.length === 0 ? ["No arguments."] : fieldTable("ARGUMENT", allFields(inputSchema), columns)),
    ...(outputSchema === undefined ? [] : ["", ...returned(outputSchema, columns)]),
    ...(hints.length === 0 ? [] : ["", `Annotations: ${cell(hints.map(([key]) => key).join(", "))}`]),
    "",
    paint("dim", `Public name: ${cell(name)}`),
    paint("dim", `Call it:     ${plainLine(typed?.commandFor(example) ?? example)}`),
  ];
}

/** Indented lines, wrapped at words. Lines that are indented already, such as code, are not wrapped. */
const paragraphs = (text: string, columns: number | undefined): string[] =>
  plainText(text)
    .trim()
    .split("\n")
    .flatMap((line) => (columns === undefined || /^\s/.test(line) ? [line] : wrapWords(line, columns - 2)))
    .map((line) => `  ${line}`);

interface ArgumentInfo {
  readonly name: string;
  readonly isRequired: boolean;
  readonly type: string;
  readonly description: string;
}

function argumentsOf(schema: JsonSchema): ArgumentInfo[] {
  const required: unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(propertiesOf(schema)).map(([name, inner]) => {
    const own = resolved(inner, schema);
    return {
      name,
      isRequired: required.includes(name),
      type: typeName(own),
      description: typeof own["description"] === "string" ? own["description"] : "",
    };
  });
}

const MAX_DEPTH = 4;
const MAX_ROWS = 100;

/** The fields of a schema, each followed by the fields of its objects: `user.name`, `items[].id`. */
function allFields(root: JsonSchema): ArgumentInfo[] {
  const rows: ArgumentInfo[] = [];
  const add = (schema: JsonSchema, prefix: string, depth: number) => {
    const inner = propertiesOf(schema);
    const own = argumentsOf({ ...root, ...schema, properties: inner, required: schema["required"] });
    for (const info of own) {
      if (rows.length >= MAX_ROWS) return;
      const name = `${prefix}${info.name}`;
      rows.push({ ...info, name });
      const fields = fieldsOf(inner[info.name], root);
      if (fields !== undefined && depth < MAX_DEPTH) add(fields.schema, `${name}${fields.mark}`, depth + 1);
    }
  };
  add(root, "", 0);
  return rows;
}

/** The object schema of a property or of its items, also where null is allowed. */
function fieldsOf(schema: unknown, root: JsonSchema): { schema: JsonSchema; mark: string } | undefined {
  const own = resolved(schema, root);
  if (isObject(own["properties"])) return { schema: own, mark: "." };
  if (own["items"] !== undefined) {
    const items = resolved(own["items"], root);
    return isObject(items["properties"]) ? { schema: items, mark: "[]." } : undefined;
  }
  const branches = [own["anyOf"], own["oneOf"]].find(Array.isArray) as unknown[] | undefined;
  return branches?.map((branch) => fieldsOf(branch, {})).find((found) => found !== undefined);
}

const propertiesOf = (schema: JsonSchema): Record<string, unknown> =>
  isObject(schema["properties"]) ? schema["properties"] : {};

/** Follows local references. A description beside the reference stays. */
function resolved(schema: unknown, root: JsonSchema): Record<string, unknown> {
  let current = schema;
  for (let steps = 0; steps < 16 && isObject(current) && typeof current["$ref"] === "string"; steps += 1) {
    const { $ref, ...beside } = current;
    const target = resolveLocalRef(root, $ref as string);
    current = isObject(target) ? { ...target, ...beside } : beside;
  }
  return isObject(current) ? current : {};
}

function typeName(schema: Record<string, unknown>): string {
  if (Array.isArray(schema["enum"])) return schema["enum"].map((value) => JSON.stringify(value)).join(" | ");
  if (Object.hasOwn(schema, "const")) return JSON.stringify(schema["const"]);
  const branches = [schema["anyOf"], schema["oneOf"]].find(Array.isArray) as unknown[] | undefined;
  if (branches !== undefined)
    return [...new Set(branches.map((branch) => typeName(isObject(branch) ? branch : {})))].join(" | ");
  const { type, items } = schema;
  if (type === "array") return `${isObject(items) ? typeName(items) : "any"}[]`;
  if (Array.isArray(type)) return type.join(" | ");
  return typeof type === "string" ? type : "any";
}

/** The structured content of a result. */
function returned(schema: JsonSchema, width: number | undefined): string[] {
  const fields = allFields(schema);
  return fields.length === 0 ? ["Returns", `  ${plainJson(schema)}`] : fieldTable("RETURNS", fields, width);
}

function fieldTable(first: string, given: readonly ArgumentInfo[], width: number | undefined): string[] {
  const rows = given.map(({ name, isRequired, type, description }) => [
    cell(name),
    oneLine(type, 40),
    isRequired ? "yes" : "",
    oneLine(description, 100),
  ]);
  const columns = [first, "TYPE", "REQUIRED", "MEANING"].map((title) => ({ title }));
  return formatTable(columns, rows, width);
}

function exampleOf(server: string, tool: string, given: readonly ArgumentInfo[]): string {
  const words = given
    .filter(({ isRequired }) => isRequired)
    .map(({ name, type }) => `${shellWord(name)}${/\[\]$|object|any/.test(type) ? ":" : ""}=…`);
  return [shellWord(`${server}.${tool}`), ...words].join(" ");
}
