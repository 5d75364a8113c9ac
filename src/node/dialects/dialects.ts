/** All dialects, in the order in which they are tried on a file of no known name. */
import { claudeCode } from "./claude-code.js";
import { claudeDesktop } from "./claude-desktop.js";
import { cline } from "./cline.js";
import { codex } from "./codex.js";
import { copilotCli } from "./copilot-cli.js";
import { cursor } from "./cursor.js";
import type { Dialect, DialectKind } from "./dialect.js";
import { geminiCli } from "./gemini-cli.js";
import { generic } from "./generic.js";
import { inspector } from "./inspector.js";
import { langchain } from "./langchain.js";
import { mcporter } from "./mcporter.js";
import { opencode } from "./opencode.js";
import { toolport } from "./toolport.js";
import { vscode } from "./vscode.js";
import { windsurf } from "./windsurf.js";
import { zed } from "./zed.js";

const DIALECTS: readonly Dialect[] = [
  ...[toolport, claudeCode, claudeDesktop, cursor, vscode, copilotCli, windsurf, zed, codex],
  ...[geminiCli, opencode, cline, mcporter, inspector, langchain, generic],
];

/** Every kind of file that is read. */
export const DIALECT_KINDS: readonly DialectKind[] = DIALECTS.map(({ kind }) => kind);

/** The dialect of a kind. */
export const dialectOf = (kind: DialectKind): Dialect => DIALECTS.find((dialect) => dialect.kind === kind)!;
