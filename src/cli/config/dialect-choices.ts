/** The names by which people call the programs whose files are read. */
import type { DialectKind } from "../../node/dialects/dialect.js";

/** What `--from` takes, and which files that means. */
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
