/** Describes a tool as text: description, arguments, and an example call. */

import type { JsonSchema } from "../model/listed-tool.js";
import type { ToolInfo } from "../model/tool-info.js";
import { isObject } from "../schema/json-schema.js";
import { formatTable } from "../util/format-table.js";
import type { Paint } from "./colours.js";
import { shellWord } from "./next-command.js";
import { cell, indented, oneLine, plainJson, plainLine, plainText } from "./plain-text.js";

/** `forecast(city, days?)` */
export function signature({ sourceName, inputSchema }: ToolInfo): string {
  const words = argumentsOf(inputSchema).map(({ name, isRequired }) => (isRequired ? name : `${name}?`));
  return plainLine(`${sourceName}(${words.join(", ")})`);
}

/** Escaped and coloured lines. */
export function describeTool(tool: ToolInfo, paint: Paint): string[] {
  const { server, sourceName, name, title, description, inputSchema, outputSchema, annotations } = tool;
  const given = argumentsOf(inputSchema);
  const hints = Object.entries(annotations ?? {}).filter(([key, value]) => key !== "title" && value === true);
  return [
    paint("bold", cell(`${server}.${sourceName}`)),
    ...(title === undefined ? [] : [cell(title)]),
    ...(description === undefined ? [] : ["", ...indented(plainText(description).trim()).split("\n")]),
    "",
    ...(given.length === 0 ? ["No arguments."] : argumentTable(given)),
    ...(outputSchema === undefined ? [] : ["", "Returns", `  ${plainJson(outputSchema)}`]),
    ...(hints.length === 0 ? [] : ["", `Annotations: ${cell(hints.map(([key]) => key).join(", "))}`]),
    "",
    paint("dim", `Public name: ${cell(name)}`),
    paint("dim", `Call it:     toolport call ${plainLine(exampleOf(server, sourceName, given))}`),
  ];
}

interface ArgumentInfo {
  readonly name: string;
  readonly isRequired: boolean;
  readonly type: string;
  readonly description: string;
}

function argumentsOf(schema: JsonSchema): ArgumentInfo[] {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const required: unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(properties).map(([name, inner]) => {
    const own = isObject(inner) ? inner : {};
    return {
      name,
      isRequired: required.includes(name),
      type: typeName(own),
      description: typeof own["description"] === "string" ? own["description"] : "",
    };
  });
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

function argumentTable(given: readonly ArgumentInfo[]): string[] {
  const rows = given.map(({ name, isRequired, type, description }) => [
    cell(name),
    oneLine(type, 40),
    isRequired ? "yes" : "",
    oneLine(description, 100),
  ]);
  const columns = ["ARGUMENT", "TYPE", "REQUIRED", "MEANING"].map((title) => ({ title }));
  return formatTable(columns, rows);
}

function exampleOf(server: string, tool: string, given: readonly ArgumentInfo[]): string {
  const words = given
    .filter(({ isRequired }) => isRequired)
    .map(({ name, type }) => `${shellWord(name)}${/\[\]$|object|any/.test(type) ? ":" : ""}=…`);
  return [shellWord(`${server}.${tool}`), ...words].join(" ");
}
