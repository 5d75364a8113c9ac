/** Options of the commands that make, list and resume suspended calls. */
import type { SuspendOptions } from "../../execution/tool-call.js";
import type { ToolportOptions } from "../../port/options.js";
import { CliError } from "../cli-error.js";
import { flagOption, type Invocation, type OptionSpec, textOption } from "../command.js";
import type { OpenedStore } from "../command-context.js";

/** Name of the answering person or program in events and audit logs. */
const ANSWERED_BY = "cli";

export const PRINCIPAL_OPTION: Readonly<Record<string, OptionSpec>> = {
  principal: { type: "string", value: "<name>", summary: "Act for this user, like toolport.as(name)" },
};

export const ANSWERED_BY_OPTION: Readonly<Record<string, OptionSpec>> = {
  "answered-by": {
    type: "string",
    value: "<name>",
    summary: "Who answers, for events and audit logs (cli; in the console: console)",
  },
};

export const SUSPEND_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  suspend: { type: "boolean", summary: "If the call has to wait for a person, save it and print its token" },
  key: {
    type: "string",
    value: "<name>",
    summary: "With --suspend: your name of the call; the same key never sends it twice",
  },
  ttl: {
    type: "string",
    value: "<time>",
    summary: "With --suspend: how long the call may wait, such as 36h or 2d (7d)",
  },
  approval: {
    type: "string",
    value: "<when>",
    choices: ["unsafe", "always"],
    summary:
      "With --suspend: wait for an approval; unsafe: not for tools that a trusted server marks read-only",
  },
};

/** The user that the command acts for; undefined for the plain port. */
export function principalOf(invocation: Invocation): string | undefined {
  const name = textOption(invocation, "principal");
  if (name === undefined || name.trim() !== "") return name;
  throw new CliError({
    message: "--principal requires the name of a user",
    next: `toolport ${invocation.command.name} --help`,
  });
}

export const answeredByOf = (invocation: Invocation): string =>
  textOption(invocation, "answered-by") ?? ANSWERED_BY;

/** How `call` suspends. */
export interface SuspendWish {
  readonly suspend: SuspendOptions;
  /** Options of the port. */
  readonly options: Pick<ToolportOptions, "approve">;
}

/** Undefined without `--suspend`. */
export function readSuspend(invocation: Invocation): SuspendWish | undefined {
  const [key, ttl, when] = ["key", "ttl", "approval"].map((name) => textOption(invocation, name));
  if (!flagOption(invocation, "suspend")) {
    const [extra] = ["key", "ttl", "approval"].filter((name) => textOption(invocation, name) !== undefined);
    if (extra === undefined) return undefined;
    throw new CliError({ message: `--${extra} requires --suspend`, next: "toolport call --help" });
  }
  return {
    suspend: { ...(key !== undefined && { key }), ...(ttl !== undefined && { ttlMs: readDuration(ttl) }) },
    options: when === undefined ? {} : { approve: { when: when as "unsafe" | "always" } },
  };
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const MAX_DAYS = 30;

function readDuration(text: string): number {
  const [, count = "", unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?)([smhd])$/.exec(text) ?? [];
  const ms = Number(count) * (UNITS[unit] ?? 0);
  if (ms >= 1 && ms <= MAX_DAYS * UNITS["d"]!) return Math.round(ms);
  throw new CliError({
    message: `--ttl requires a time of at most ${MAX_DAYS} days with a unit: 90s, 30m, 36h or 2d`,
    next: "toolport call … --suspend --ttl 2d",
  });
}

/** @throws CliError `NOT_OFFERED` if suspended calls would be lost at the end of the command */
export function requireState({ statePath }: Pick<OpenedStore, "statePath">, { command }: Invocation): void {
  if (statePath !== undefined) return;
  throw new CliError({
    code: "NOT_OFFERED",
    message:
      "State is in memory, so a suspended call is lost when the command ends. Use a state file: remove --no-state and TOOLPORT_STATE=off",
    next: `toolport ${command.name} --state <path> …`,
  });
}
