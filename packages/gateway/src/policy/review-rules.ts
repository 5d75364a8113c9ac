/** Finds rules of a policy that can never apply: unknown servers, public names, unknown tools and arguments, rules behind others. */
import {
  ConfigError,
  type ConfigIssue,
  ConfigIssues,
  type ConfigPath,
  isRecord,
  type Logger,
  suggest,
  type ToolInfo,
} from "@toolport/base";
import type { Port } from "@toolport/core/internal";
import { compileText, readPointer } from "./argument-conditions.js";
import { type PolicyOption, rulesIn } from "./create-policy.js";
import type { Policy, PolicyDocument, PolicyRule, ReadRules, TextPattern } from "./policy.js";
import { readPattern } from "./resource-uri.js";

/** Between the name of a server and the name of its tool, in the name that clients see. */
const SEPARATOR = "__";
const WILDCARD = /[*?]/;

/** What the names of the servers show: what is wrong with the rules. A gateway does not start with errors. */
export function reviewRules(
  { document, knownServers, locate }: ReadRules,
  servers: readonly string[],
): Readonly<Record<"errors" | "warnings", readonly ConfigIssue[]>> {
  const errors = new ConfigIssues("policy", locate);
  const warnings = new ConfigIssues("policy", locate);
  const known = [...new Set([...servers, ...knownServers])];
  document.rules.forEach((rule, index) => {
    const path: ConfigPath = ["rules", index];
    for (const pattern of list(rule.server)) {
      if (known.some(compileText(pattern))) continue;
      const what = WILDCARD.test(pattern) ? "matches no server" : "is not the name of a server";
      const issues = WILDCARD.test(pattern) ? warnings : errors;
      issues.add([...path, "server"], `${JSON.stringify(pattern)} ${what}${didYouMean(pattern, known)}`);
    }
    for (const field of ["tool", "prompt"] as const)
      for (const pattern of list(rule[field])) {
        const owner = ownerOf(pattern, known);
        if (owner === undefined || !(rule.server === undefined || compileText(rule.server)(owner))) continue;
        const own = pattern.slice(owner.length + SEPARATOR.length);
        errors.add(
          [...path, field],
          `${JSON.stringify(pattern)} is the name that clients see. Write "server": ${JSON.stringify(owner)}, "${field}": ${JSON.stringify(own)}; if the server itself uses this name, write ${JSON.stringify(`${owner}_?${own}`)}`,
        );
      }
    for (const pattern of rule.effect === "allow" ? list(rule.resource) : []) {
      const other = readPattern(pattern)?.decoded ?? pattern;
      if (other === pattern || mayAllow(document, other)) continue;
      const both = `${JSON.stringify(pattern)} allows nothing alone, because servers may read it as another resource`;
      warnings.add([...path, "resource"], `${both}: write ${JSON.stringify(other)} too`);
    }
    const before = document.rules.findIndex((earlier, place) => place < index && covers(earlier, rule));
    if (before >= 0) warnings.add(path, `never applies, because rule ${before + 1} applies before it`);
  });
  return { errors: errors.list, warnings: warnings.list };
}

/**
 * What the lists of tools show.
 *
 * @param servers all servers
 * @param listed those whose tools are known
 */
function reviewTools(
  { document, locate }: ReadRules,
  servers: readonly string[],
  { listed, tools }: { readonly listed: ReadonlySet<string>; readonly tools: readonly ToolInfo[] },
): readonly ConfigIssue[] {
  const warnings = new ConfigIssues("policy", locate);
  document.rules.forEach((rule, index) => {
    const concerned = servers.filter(rule.server === undefined ? () => true : compileText(rule.server));
    if (concerned.length === 0 || concerned.some((server) => !listed.has(server))) return;
    const offered = tools.filter(({ server }) => concerned.includes(server));
    const names = offered.map(({ sourceName }) => sourceName);
    for (const pattern of list(rule.tool)) {
      const matches = compileText(pattern);
      if (names.some(matches)) continue;
      const seen = offered.find(({ server, sourceName }) => matches(`${server}${SEPARATOR}${sourceName}`));
      // A pattern for all servers may be about tools that come later.
      if (seen === undefined && WILDCARD.test(pattern) && rule.server === undefined) continue;
      const where = concerned.length === 1 ? concerned[0] : "these servers";
      const what = WILDCARD.test(pattern) ? "matches no tool" : "is not the name of a tool";
      const hint =
        seen === undefined
          ? didYouMean(pattern, names)
          : `, only the name that clients see: the server calls it ${JSON.stringify(seen.sourceName)}`;
      const message = `${JSON.stringify(pattern)} ${what} of ${where}${hint}`;
      warnings.add(["rules", index, "tool"], message);
    }
    const matched =
      rule.tool === undefined ? offered : offered.filter((tool) => compileText(rule.tool!)(tool.sourceName));
    for (const pointer of Object.keys(rule.args ?? {})) {
      const [name = ""] = readPointer(pointer) ?? [];
      const arguments_ = matched.map(({ inputSchema }) => argumentsOf(inputSchema));
      if (name === "*" || arguments_.length === 0) continue;
      if (arguments_.some((names) => names === undefined || names.includes(name))) continue;
      const all = [...new Set(arguments_.flatMap((names) => names ?? []))];
      const message = `no tool of this rule has an argument ${JSON.stringify(name)}${didYouMean(name, all)}`;
      warnings.add(["rules", index, "args", pointer], message);
    }
  });
  return warnings.list;
}

/** One finding as a line. */
export const findingText = ({ file, line, path, message }: ConfigIssue): string =>
  `${file === undefined ? "" : `${file}:${line}: `}${path}: ${message}`;

const list = (pattern: TextPattern | undefined): readonly string[] =>
  pattern === undefined ? [] : [pattern].flat();

function didYouMean(word: string, names: readonly string[]): string {
  const [close] = suggest(word, new Set(names), 1);
  return close === undefined ? "" : `; did you mean ${JSON.stringify(close)}?`;
}

/** The server of a public name. The longest one, because names of servers may contain the separator. */
const ownerOf = (name: string, servers: readonly string[]): string | undefined =>
  servers.filter((server) => name.startsWith(`${server}${SEPARATOR}`)).sort((a, b) => b.length - a.length)[0];

/** Undefined: a call may have others than those that are listed. */
function argumentsOf(schema: unknown): readonly string[] | undefined {
  if (!isRecord(schema) || !isRecord(schema["properties"])) return undefined;
  const others = ["$ref", "allOf", "anyOf", "oneOf", "patternProperties", "additionalProperties"] as const;
  // `additionalProperties: false` allows no other.
  const isOpen = others.some((key) => schema[key] !== undefined && schema[key] !== false);
  return isOpen ? undefined : Object.keys(schema["properties"]);
}

/** Whether requests for a resource may be allowed, by some user. */
const mayAllow = ({ default: otherwise, rules }: PolicyDocument, pattern: string): boolean =>
  otherwise === "allow" ||
  rules.some(({ effect, tool, prompt, resource }) => {
    if (effect !== "allow" || tool !== undefined || prompt !== undefined) return false;
    return resource === undefined || coversText(resource, pattern);
  });

/** Whether the earlier rule applies to everything that the later one is about. False if that is not certain. */
function covers(earlier: PolicyRule, later: PolicyRule): boolean {
  if (earlier.args !== undefined && JSON.stringify(earlier.args) !== JSON.stringify(later.args)) return false;
  // The same condition means "every" in rules that allow, and "some" in others.
  if (earlier.args !== undefined && (earlier.effect === "allow") !== (later.effect === "allow")) return false;
  const fields = ["server", "tool", "prompt", "resource", "scope"] as const;
  return (
    fields.every((field) => coversText(earlier[field], later[field])) && coversUser(earlier.user, later.user)
  );
}

function coversUser(earlier: PolicyRule["user"], later: PolicyRule["user"]): boolean {
  if (earlier === undefined) return true;
  if (later === undefined || isRecord(earlier) !== isRecord(later)) return false;
  if (!isRecord(earlier)) return coversText(earlier as TextPattern, later as TextPattern);
  const [before, after] = [earlier, later] as Record<"issuer" | "subject", TextPattern | undefined>[];
  return (["issuer", "subject"] as const).every((part) => coversText(before![part], after![part]));
}

function coversText(earlier: TextPattern | undefined, later: TextPattern | undefined): boolean {
  if (earlier === undefined) return true;
  if (later === undefined) return false;
  return list(later).every((pattern) =>
    list(earlier).some(
      (wide) =>
        wide === pattern ||
        // A `*` of the wide pattern stands for the `*` of the other one too; a `?` does not.
        (!(wide.includes("?") && WILDCARD.test(pattern)) && compileText(wide)(pattern)),
    ),
  );
}

type ReviewedPort = Pick<Port, "catalog" | "configs">;

export class RuleReview {
  readonly #policies: readonly Policy[];
  readonly #warned = new Set<string>();
  /** Servers whose tools were compared with the rules. */
  readonly #reviewed = new Set<string>();

  /** @throws ConfigError if a rule names a server that does not exist, or a tool by its public name */
  constructor(
    option: PolicyOption | undefined,
    private readonly plain: ReviewedPort,
    private readonly logger: Pick<Logger, "warn">,
  ) {
    this.#policies = rulesIn(option);
    const errors = this.#review();
    if (errors.length > 0)
      throw new ConfigError({
        code: "INVALID_CONFIG",
        what: "The policy has rules that can never apply",
        issues: errors,
        next: "Correct the rules named above. Name servers that are added later in `knownServers` of readPolicy() or watchPolicy()",
      });
  }

  /** Compares the rules with the tools of servers that were listed for the first time. */
  listed(port: ReviewedPort): void {
    if (this.#policies.length === 0) return;
    const servers = this.#servers();
    const listed = new Set(servers.filter((server) => port.catalog.knows(server)));
    if ([...listed].every((server) => this.#reviewed.has(server))) return;
    for (const server of listed) this.#reviewed.add(server);
    const { tools } = port.catalog.snapshot();
    for (const rules of this.#sources()) this.#warn(reviewTools(rules, servers, { listed, tools }));
  }

  /** The rules have changed. They are in use: to keep the old ones for a wrong name would also keep out what is urgent. */
  reloaded(): void {
    this.#warned.clear();
    this.#reviewed.clear();
    this.#warn(this.#review());
  }

  /** Warns, and returns the errors. */
  #review(): readonly ConfigIssue[] {
    const servers = this.#servers();
    return this.#sources().flatMap((rules) => {
      const { errors, warnings } = reviewRules(rules, servers);
      this.#warn(warnings);
      return errors;
    });
  }

  #warn(issues: readonly ConfigIssue[]): void {
    for (const text of issues.map(findingText)) {
      if (this.#warned.has(text)) continue;
      this.#warned.add(text);
      this.logger.warn(`A rule of the policy can never apply: ${text}`);
    }
  }

  #servers(): string[] {
    return this.plain.configs().map(({ name }) => name);
  }

  #sources(): ReadRules[] {
    return this.#policies.flatMap((policy) => policy.source?.() ?? []);
  }
}
