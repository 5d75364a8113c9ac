/** Describes an unexpanded entry of a project file for consent: the entry itself and its risks. */

import { canParseUrl } from "../util/can-parse-url.js";
import { isRecord } from "../util/is-record.js";
import { addressRisks, proxyRisks, riskRows, sortRisks, visible } from "./describe-command.js";
import { type CommandRisk, commandRisks, variableRisks } from "./entry-risks.js";
import { PLACE_NAMES } from "./expand-entry.js";
import { writtenForm } from "./expand-server.js";
import { type Reference, referencesIn, withDefaults } from "./expand-variables.js";
import { textsIn } from "./project-files.js";
import type { WrittenServer } from "./read-servers.js";

/** Returns lines for a prompt, unexpanded and unabridged. Safe to print. */
export function describeWritten(server: WrittenServer): string {
  const { entry, inputs } = writtenForm(server);
  return [
    ...toLines(entry),
    ...(inputs === undefined ? [] : ["inputs of the file:", ...toLines(inputs)]),
    ...riskRows(sortRisks(risksOf(server))).map(visible),
  ].join("\n");
}

const toLines = (value: unknown): string[] => toJson(value, "").split("\n").map(visible);

/** JSON with one field per line; arrays of primitives stay on one line. */
function toJson(value: unknown, indent: string): string {
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  if (!isList && !isRecord(value)) return JSON.stringify(typeof value === "bigint" ? String(value) : value);
  if (isList && value.every((item) => typeof item !== "object"))
    return `[${value.map((item) => toJson(item, inner)).join(", ")}]`;
  const items = isList
    ? value.map((item) => toJson(item, inner))
    : Object.entries(value).map(([name, field]) => `${JSON.stringify(name)}: ${toJson(field, inner)}`);
  const [open, close] = isList ? "[]" : "{}";
  return items.length === 0
    ? `${open}${close}`
    : `${open}\n${items.map((item) => inner + item).join(",\n")}\n${indent}${close}`;
}

function risksOf({ translated, dialect }: WrittenServer): CommandRisk[] {
  const { entry, envFile, passedVariables } = translated;
  const { url, env, inheritEnv, proxy } = entry;
  const bare = dialect.bareVariables === true;
  const references = textsIn([entry, envFile]).flatMap((text) => referencesIn(text, { bare }));
  const risks = [...commandRisks(wordsOf(entry)), ...variableRisks(isRecord(env) ? Object.keys(env) : [])];
  if (inheritEnv === true)
    risks.push({ level: "danger", message: "inherits all environment variables, including secrets" });
  if (typeof url === "string" && canParseUrl(withDefaults(url)))
    risks.push(...addressRisks({ url: withDefaults(url) }));
  risks.push(...proxyRisks(proxy));
  return [...risks, ...referenceRisks(references, passedVariables), ...envFileRisks(envFile)];
}

/** The command line with variables replaced by their defaults, where they have one. */
function wordsOf(entry: Readonly<Record<string, unknown>>): string[] {
  const { command, args, image, engine, dockerHost, mounts, runArgs } = entry;
  const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
  const container = [
    ...[engine ?? "docker", "--host", dockerHost, "run"],
    ...list(mounts).flatMap((mount) => ["-v", mount]),
    ...[...list(runArgs), image],
  ];
  return [command, ...(image === undefined ? [] : container), ...list(args)]
    .filter((word) => typeof word === "string")
    .map(withDefaults);
}

function referenceRisks(references: readonly Reference[], passed: readonly string[]): CommandRisk[] {
  const files = references.flatMap((found) => (found.kind === "file" ? [found.path] : []));
  const variables = references.flatMap((found) => (found.kind === "variable" ? [found.name] : []));
  const names = [...new Set([...variables, ...passed])].filter((name) => !PLACE_NAMES.includes(name));
  return [
    ...[...new Set(files)].map((path): CommandRisk => ({ level: "danger", message: `reads ${path}` })),
    ...(names.length === 0
      ? []
      : [{ level: "note", message: `takes ${names.join(", ")} from your environment` } as const]),
  ];
}

/** The variables of the file may affect which code runs. */
const envFileRisks = (envFile: string | undefined): CommandRisk[] =>
  envFile === undefined ? [] : [{ level: "note", message: `takes variables from the file ${envFile}` }];
