/** Turns the rules of a policy into one function that decides about a request. */
import { BoundedMap, parseJson } from "@toolport/base";
import {
  type ArgumentsMatcher,
  compileArguments,
  compileText,
  type RegexCompiler,
  type TextMatcher,
} from "./argument-conditions.js";
import { WHOLE_SERVER } from "./create-policy.js";
import {
  ALLOW,
  type PolicyDecision,
  type PolicyDocument,
  type PolicyRequest,
  type PolicyRule,
  stricter,
  type TextPattern,
  type UserPattern,
} from "./policy.js";
import { readingsOf } from "./resource-uri.js";

/** Undefined: the rule has no such pattern. */
type CompiledPatterns = Record<
  "server" | "tool" | "prompt" | "resource" | "user" | "scope",
  TextMatcher | undefined
>;

interface CompiledRule extends CompiledPatterns, ReturnType<typeof decisions> {
  readonly args: ArgumentsMatcher | undefined;
}

/** Created once, so that a decision allocates nothing. */
const decisions = (decision: PolicyDecision) => ({
  decision: Object.freeze(decision),
  decisionByArguments: Object.freeze({ ...decision, readsArguments: true }),
});

/** Rules by server. Servers come from the configuration, so there are few; the limit is for a caller that passes other names. */
const MAX_SERVERS = 1_000;
/** Users whose match is remembered for each rule. */
const MAX_USERS = 1_000;

const NO_ARGUMENTS: Readonly<Record<string, unknown>> = Object.freeze({});

/**
 * Compiles a policy that was checked.
 *
 * @param regex compiles the patterns of conditions
 */
export function compileRules(
  { default: otherwise, rules }: PolicyDocument,
  regex: RegexCompiler,
): (request: PolicyRequest) => PolicyDecision {
  const compiled = rules.map((rule, index) => compileRule(rule, index, regex));
  const fallback = defaultDecision(otherwise);

  const rulesOf = remember(MAX_SERVERS, (server) =>
    compiled.filter((rule) => rule.server === undefined || rule.server(server)),
  );

  const decide = (request: PolicyRequest): PolicyDecision => {
    // A list shows what some arguments may be allowed to do. Every other request is decided with the arguments it has.
    const isWhole = request.method === WHOLE_SERVER;
    const isListing = isWhole || request.method.endsWith("/list");
    let readsArguments = false;
    for (const rule of rulesOf(request.server)) {
      if (isWhole ? !concernsSome(rule, request) : !concerns(rule, request)) continue;
      if (rule.args === undefined) return readsArguments ? rule.decisionByArguments : rule.decision;
      if (isListing) {
        if (rule.decision.effect !== "deny") return rule.decision;
        continue;
      }
      readsArguments = true;
      if (rule.args(request.args ?? NO_ARGUMENTS)) return rule.decisionByArguments;
    }
    return readsArguments ? fallback.decisionByArguments : fallback.decision;
  };
  return (request) =>
    request.uri === undefined ? decide(request) : readingsOf(request).map(decide).reduce(stricter);
}

/** Whether everything but the arguments matches. */
function concerns(rule: CompiledRule, request: PolicyRequest): boolean {
  const { tool, prompt, uri } = request;
  if (rule.tool !== undefined && (tool === undefined || !rule.tool(tool))) return false;
  if (rule.prompt !== undefined && (prompt === undefined || !rule.prompt(prompt))) return false;
  if (rule.resource !== undefined && (uri === undefined || !rule.resource(uri))) return false;
  return isFor(rule, request);
}

/** Whether the rule decides if the user may see some part of a server. A denied part says nothing about the others. */
function concernsSome(rule: CompiledRule, request: PolicyRequest): boolean {
  const namesPart = rule.tool !== undefined || rule.prompt !== undefined || rule.resource !== undefined;
  return !(namesPart && rule.decision.effect === "deny") && isFor(rule, request);
}

/** Whether the rule is for this user. */
function isFor(rule: CompiledRule, { principal, scopes }: PolicyRequest): boolean {
  if (rule.user !== undefined && !rule.user(principal ?? "")) return false;
  return rule.scope === undefined || (scopes?.some(rule.scope) ?? false);
}

function compileRule(rule: PolicyRule, index: number, regex: RegexCompiler): CompiledRule {
  const { effect, args } = rule;
  const number = index + 1;
  const word = effect === "deny" ? "denies this" : "needs approval for this";
  const decision: PolicyDecision =
    effect === "allow"
      ? { effect, rule: number }
      : { effect, rule: number, reason: rule.reason ?? `Rule ${number} of the policy ${word}` };
  return {
    server: optional(rule.server),
    tool: optional(rule.tool),
    prompt: optional(rule.prompt),
    resource: optional(rule.resource),
    user: compileUser(rule.user),
    scope: optional(rule.scope),
    args: args && compileArguments(args, effect, regex),
    ...decisions(decision),
  };
}

const optional = (pattern: TextPattern | undefined): TextMatcher | undefined =>
  pattern === undefined ? undefined : compileText(pattern);

function compileUser(user: PolicyRule["user"]): TextMatcher | undefined {
  if (user === undefined || typeof user === "string" || isList(user)) return optional(user);
  const issuer = optional(user.issuer);
  const subject = optional(user.subject);
  return remember(MAX_USERS, (principal) => {
    const parts = principal.startsWith("[") ? parseJson(principal) : undefined;
    if (!Array.isArray(parts) || parts.length !== 2) return false;
    const [givenIssuer, givenSubject] = parts;
    if (typeof givenIssuer !== "string" || typeof givenSubject !== "string") return false;
    return (issuer?.(givenIssuer) ?? true) && (subject?.(givenSubject) ?? true);
  });
}

/** Users call often, and the same text always gets the same answer. */
function remember<Answer>(max: number, find: (text: string) => Answer): (text: string) => Answer {
  const answers = new BoundedMap<string, Answer>(max);
  return (text) => {
    let answer = answers.get(text);
    if (answer === undefined) {
      answer = find(text);
      answers.set(text, answer);
    }
    return answer;
  };
}

/** `Array.isArray` does not narrow read-only arrays. */
const isList = (user: readonly string[] | UserPattern): user is readonly string[] => Array.isArray(user);

function defaultDecision(effect: PolicyDocument["default"]) {
  if (effect === "allow") return decisions(ALLOW);
  const reason =
    effect === "deny" ? "No rule of the policy allows this" : "The policy needs approval for this";
  return decisions({ effect, reason });
}
