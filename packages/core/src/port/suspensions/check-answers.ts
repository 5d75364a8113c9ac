/** Checks the decision of a person before anything is sent. */

import { canonicalJson, isRecord, ToolCallError } from "@toolport/base";
import type { Pause, SuspendReason } from "../../execution/suspend/call-suspension.js";
import type { ResumeInput } from "../../execution/suspend/suspension.js";
import type { SuspendOptions } from "../../execution/tool-call.js";
import { completeForm, type ElicitationRequest } from "../../protocol/server-requests/elicitation.js";

interface Issue {
  readonly path: string;
  readonly message: string;
}

interface Where {
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
}

const DAY_MS = 24 * 60 * 60 * 1_000;
const DEFAULT_TTL_MS = 7 * DAY_MS;
const MAX_TTL_MS = 30 * DAY_MS;
const MAX_KEY = 1_024;
const REASONS = new Set<unknown>(["input", "approval", "login"]);

export interface SuspendWish {
  readonly ttlMs: number;
  readonly key: string | undefined;
  readonly requireDurable: boolean;
  /** False: find an earlier call, and begin none. */
  readonly create: boolean;
  readonly reasons?: readonly SuspendReason[] | undefined;
}

/** Reads the option `suspend` of a call. */
export function readSuspendOption(option: true | SuspendOptions, where: Where): SuspendWish {
  const {
    ttlMs = DEFAULT_TTL_MS,
    key,
    create = true,
    requireDurable = false,
    reasons,
  }: SuspendOptions = option === true ? {} : option;
  const issues: Issue[] = [];
  if (typeof ttlMs !== "number" || !(ttlMs > 0 && ttlMs <= MAX_TTL_MS))
    issues.push({ path: "suspend.ttlMs", message: "must be between 1 ms and 30 days" });
  if (key !== undefined && (typeof key !== "string" || key === "" || key.length > MAX_KEY))
    issues.push({ path: "suspend.key", message: `must be a text of 1 to ${MAX_KEY} characters` });
  if (!create && key === undefined)
    issues.push({ path: "suspend.key", message: "is required with create: false" });
  if (reasons !== undefined && !(Array.isArray(reasons) && reasons.every((reason) => REASONS.has(reason))))
    issues.push({ path: "suspend.reasons", message: "must be a list of input, approval and login" });
  if (issues.length > 0) throw invalid(issues, where);
  return { ttlMs, key, create, requireDurable, reasons };
}

/** The arguments as they are saved and sent: a copy without undefined members, with dates as text. Throws if they cannot be saved. */
export function toJsonArguments(
  args: Readonly<Record<string, unknown>>,
  where: Where,
): Record<string, unknown> {
  try {
    // Throws where JSON.stringify would send something else than the caller passed.
    canonicalJson(args);
    return JSON.parse(JSON.stringify(args));
  } catch (cause) {
    const message = `cannot be saved: ${(cause as Error).message}`;
    throw invalid([{ path: "arguments", message }], where);
  }
}

/** The checked answers to what the server asks, with the defaults of the forms. Throws `INVALID_ARGUMENTS`. */
export function checkAnswers(
  requests: Readonly<Record<string, ElicitationRequest>>,
  answers: ResumeInput["answers"],
  where: Where,
): Record<string, Record<string, unknown>> {
  const issues: Issue[] = [];
  // Keys come from the server: an assignment of `__proto__` would be lost.
  const checked: [string, Record<string, unknown>][] = [];
  if (answers !== undefined && !isRecord(answers))
    throw invalid([{ path: "answers", message: "must be an object" }], where);
  for (const [key, request] of Object.entries(requests)) {
    const answer = checkAnswer(
      request,
      answers !== undefined && Object.hasOwn(answers, key) ? answers[key] : undefined,
    );
    if (Array.isArray(answer))
      issues.push(
        ...answer.map(({ path, message }) => ({ path: path === "" ? key : `${key}.${path}`, message })),
      );
    else checked.push([key, answer]);
  }
  for (const key of Object.keys(answers ?? {}))
    if (!Object.hasOwn(requests, key)) issues.push({ path: key, message: "was not asked for" });
  if (issues.length > 0) throw invalid(issues, where);
  return Object.fromEntries(checked);
}

function checkAnswer(request: ElicitationRequest, answer: unknown): Record<string, unknown> | Issue[] {
  if (answer === undefined) return [{ path: "", message: "is required" }];
  const { action, content = {} } = (answer ?? {}) as { action?: unknown; content?: unknown };
  if (action === "decline" || action === "cancel") return { action };
  if (action !== "accept") return [{ path: "action", message: "must be accept, decline or cancel" }];
  if (request.mode === "url") return { action };
  if (!isRecord(content)) return [{ path: "content", message: "must be an object" }];
  const form = completeForm(request.requestedSchema, content);
  if ("content" in form) return { action, content: form.content };
  return form.issues.map(({ path, message }) => ({ path: `content.${path}`, message }));
}

/** Whether the person approves. Throws `INVALID_ARGUMENTS` if the decision is missing. */
export function checkApproval({ approve }: ResumeInput, where: Where): boolean {
  if (typeof approve === "boolean") return approve;
  throw invalid([{ path: "approve", message: "must be true or false" }], where);
}

/** Throws if the answer is of another kind than the question. */
export function checkKind(reason: Pause["reason"], input: ResumeInput, where: Where): void {
  const issues: Issue[] = [];
  if (reason !== "input" && input.answers !== undefined)
    issues.push({ path: "answers", message: `was not asked for: the call waits for ${NEEDED[reason]}` });
  if (reason !== "approval" && input.approve !== undefined)
    issues.push({ path: "approve", message: `was not asked for: the call waits for ${NEEDED[reason]}` });
  if (issues.length > 0) throw invalid(issues, where);
}

const NEEDED = { input: "answers", approval: "an approval", login: "a login" } as const;

/** Contains paths and rules only, never what the person typed. */
const invalid = (issues: readonly Issue[], where: Where): ToolCallError =>
  new ToolCallError({
    ...where,
    code: "INVALID_ARGUMENTS",
    what: `The call was not sent: ${issues.map(({ path, message }) => `${path} ${message}`).join(", ")}`,
    next: "Correct this and try again; nothing was changed",
    issues,
    outcome: "unsent",
  });
