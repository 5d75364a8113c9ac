/** Names of the programs that servers can be imported from. */
import type { DialectKind } from "../../node/dialects/dialect.js";

/** Values of `--from`, with the dialects of each. */
export const PROGRAMS: Readonly<Record<string, readonly DialectKind[]>> = {
  claude: ["claude-code", "claude-desktop"],
  "claude-code": ["claude-code"],
  "claude-desktop": ["claude-desktop"],
  cursor: ["cursor"],
  vscode: ["vscode"],
  copilot: ["copilot-cli"],
  "copilot-cli": ["copilot-cli"],
  windsurf: ["windsurf"],
  zed: ["zed"],
  codex: ["codex"],
  gemini: ["gemini-cli"],
  "gemini-cli": ["gemini-cli"],
  opencode: ["opencode"],
  cline: ["cline"],
  mcporter: ["mcporter"],
  inspector: ["inspector"],
};
