/** Tells the operator of a gateway about rules that can never apply: at the start, after a reload, and after lists were read. */
import { ConfigError } from "../../errors/config-error.js";
import type { Logger } from "../../telemetry/logger.js";
import type { PolicyOption } from "./create-policy.js";
import type { Policy, ReadRules } from "./policy.js";
import { findingText, type ReviewedTool, reviewRules, reviewTools } from "./review-rules.js";

interface ReviewedPort {
  readonly catalog: {
    snapshot(): { readonly tools: readonly ReviewedTool[] };
    knows(server: string): boolean;
  };
  configs(): readonly { readonly name: string }[];
}

export class RuleReview {
  readonly #policies: readonly Policy[];
  readonly #plain: ReviewedPort;
  readonly #logger: Pick<Logger, "warn">;
  readonly #warned = new Set<string>();
  /** Servers whose tools were compared with the rules. */
  readonly #reviewed = new Set<string>();

  /** @throws ConfigError if a rule names a server that does not exist, or a tool by its public name */
  constructor(option: PolicyOption | undefined, plain: ReviewedPort, logger: Pick<Logger, "warn">) {
    const parts = (option === undefined ? [] : [option].flat()) as readonly Partial<Policy>[];
    this.#policies = parts.filter((part): part is Policy => typeof part?.source === "function");
    this.#plain = plain;
    this.#logger = logger;
    const servers = this.#servers();
    const errors = this.#sources().flatMap((rules) => {
      const found = reviewRules(rules, servers);
      this.#warn(found.warnings.map(findingText));
      return found.errors;
    });
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
    for (const rules of this.#sources())
      this.#warn(reviewTools(rules, servers, { listed, tools }).map(findingText));
  }

  /** The rules have changed. They are in use: to keep the old ones for a wrong name would also keep out what is urgent. */
  reloaded(): void {
    this.#warned.clear();
    this.#reviewed.clear();
    const servers = this.#servers();
    for (const rules of this.#sources()) {
      const { errors, warnings } = reviewRules(rules, servers);
      this.#warn([...errors, ...warnings].map(findingText));
    }
  }

  #warn(texts: readonly string[]): void {
    for (const text of texts) {
      if (this.#warned.has(text)) continue;
      this.#warned.add(text);
      this.#logger.warn(`A rule of the policy can never apply: ${text}`);
    }
  }

  #servers(): string[] {
    return this.#plain.configs().map(({ name }) => name);
  }

  #sources(): ReadRules[] {
    return this.#policies.flatMap((policy) => policy.source?.() ?? []);
  }
}
