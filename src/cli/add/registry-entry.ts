/** Builds the entry of a server from a registry, and asks the user for required inputs. */
import type { InputValue, RegistryInput } from "../../registry/input-resolver.js";
import type { SourcePreference } from "../../registry/server-sources.js";
import { type ServerConfigResult, toServerConfig } from "../../registry/to-server-config.js";
import { CliError } from "../cli-error.js";
import { type Invocation, textOption, textsOption } from "../command.js";
import type { CommandContext } from "../command-context.js";
import { describeEntry } from "../config/describe-entry.js";
import { EXIT } from "../exit-codes.js";
import { shellWord } from "../next-command.js";
import { openRegistry } from "../open-registry.js";
import { indented, plainLine } from "../plain-text.js";
import type { Addition } from "./addition.js";
import { readPairs } from "./addition.js";

/** An answer may make further inputs necessary. Limit the rounds. */
const MAX_ROUNDS = 4;

/** @param wanted `namespace/name`, or with `@version` appended */
export async function readFromRegistry(
  wanted: string,
  invocation: Invocation,
  context: CommandContext,
): Promise<Addition> {
  const at = wanted.lastIndexOf("@");
  const [id, version] = at > 0 ? [wanted.slice(0, at), wanted.slice(at + 1)] : [wanted, undefined];
  const registry = await openRegistry(invocation, context);
  const found = await registry.getServer(id, version, { signal: context.signal });
  const inputs: Record<string, InputValue> = {
    ...readPairs(textsOption(invocation, "input"), { mark: "=", option: "--input", example: "API_KEY=…" }),
  };
  const prefer = textOption(invocation, "prefer") as SourcePreference | undefined;
  const build = () => toServerConfig(found, { inputs, ...(prefer && { prefer }) });
  let result = build();
  for (let round = 0; round < MAX_ROUNDS && result.missing.length > 0 && context.isInteractive; round++) {
    for (const input of result.missing) {
      const answer = await context.ask(`${questionFor(input)}: `, { isSecret: input.isSecret });
      if (answer !== undefined && answer !== "") inputs[input.name] = answer;
    }
    result = build();
  }
  if (result.entry === undefined) throw unusable(wanted, result);
  if (result.start !== undefined) {
    const lines = indented(describeEntry(result.start).text).split("\n");
    context.info(["Start this server yourself first; Toolport does not start it:", ...lines], "yellow");
  }
  return {
    name: invocation.words[0] ?? result.name,
    entry: result.entry as unknown as Record<string, unknown>,
    shown: result.entry,
    needsConsent: true,
    warnings: result.warnings,
  };
}

function questionFor({ name, description, choices, placeholder, problem }: RegistryInput): string {
  const parts = [
    ...(description === undefined ? [] : [description]),
    ...(choices === undefined ? [] : [`one of ${choices.join(", ")}`]),
    ...(placeholder === undefined ? [] : [`such as ${placeholder}`]),
    ...(problem === undefined ? [] : [`it ${problem}`]),
  ];
  return plainLine(parts.length === 0 ? name : `${name} (${parts.join("; ")})`);
}

function unusable(wanted: string, { missing, reason }: ServerConfigResult): CliError {
  const needs = missing.map((input) => `\n  - ${questionFor(input)}${input.isSecret ? " [secret]" : ""}`);
  const given = missing.map(({ name }) => `--input ${shellWord(name)}=…`).join(" ");
  return new CliError({
    code: missing.length > 0 ? "MISSING_INPUTS" : "NOT_USABLE",
    exitCode: EXIT.configuration,
    message:
      missing.length > 0
        ? `${wanted} requires these inputs:${needs.join("")}`
        : `${wanted} cannot be added: ${plainLine(reason ?? "")}`,
    next:
      missing.length > 0
        ? `toolport add --from-registry ${shellWord(wanted)} ${given}`
        : `toolport search ${shellWord(wanted.split("/").at(-1) ?? wanted)}`,
  });
}
