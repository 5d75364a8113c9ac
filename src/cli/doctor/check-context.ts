/** Checks how many tokens the definitions of the tools take in every request to a model. */
import type { ToolCosts } from "../../port/tool-costs.js";
import { plainLine, plural } from "../plain-text.js";
import { about, COSTLY_TOKENS } from "../token-costs.js";
import type { Finding } from "./finding.js";

const MAX_NAMED = 3;
/** Smaller shares are not worth naming. */
const MIN_SHARE = 0.05;

export function checkContext({ tools, tokens, shown, servers }: ToolCosts): Finding {
  const count = tools.filter(({ deferred }) => !deferred).length;
  const summary = `The definitions of ${plural(count, "tool")} take ${about(shown)} tokens in every request to a model${shown === tokens ? "" : `, ${about(tokens - shown)} more are deferred`}`;
  if (shown <= COSTLY_TOKENS) return { check: "context", status: "ok", message: summary };
  const largest = Object.entries(servers)
    .sort(([, a], [, b]) => b.shown - a.shown)
    .slice(0, MAX_NAMED)
    .filter(([, server], index) => index === 0 || server.shown >= MIN_SHARE * shown);
  const names = largest.map(([name, server]) => `${plainLine(name)} ${about(server.shown)}`);
  return {
    ...{ check: "context", status: "warn" },
    message: `${summary}. The largest servers: ${names.join(", ")}`,
    next: `Let models search for tools: deferTools: { mode: "auto" } in createToolport, or "defer": true in the entry of ${plainLine(largest[0]![0])}. See what each tool takes: toolport tools --cost`,
  };
}
