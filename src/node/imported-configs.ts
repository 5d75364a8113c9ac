/** The files of other programs that a file of mcporter's takes in by name. */
import type { ConfigIssue } from "../errors/config-error.js";
import { type ConfigDocument, valueAt } from "./config-document.js";
import type { ConfigLocation, Surroundings } from "./config-locations.js";
import type { DialectKind } from "./dialects/dialect.js";
import { findConfigs } from "./find-configs.js";

const IMPORTS: Readonly<Record<string, DialectKind>> = {
  cursor: "cursor",
  "claude-code": "claude-code",
  "claude-desktop": "claude-desktop",
  codex: "codex",
  windsurf: "windsurf",
  opencode: "opencode",
  vscode: "vscode",
  zed: "zed",
  gemini: "gemini-cli",
  cline: "cline",
};

/** Only what `imports` names; without it nothing is taken in, whatever mcporter itself would do. */
export async function importedConfigs(
  document: ConfigDocument,
  surroundings: Surroundings,
): Promise<{ locations: readonly ConfigLocation[]; warnings: readonly ConfigIssue[] }> {
  const { file, root } = document;
  const names: unknown = valueAt(root, ["imports"]);
  const locations: ConfigLocation[] = [];
  const warnings: ConfigIssue[] = [];
  for (const [index, name] of (Array.isArray(names) ? (names as unknown[]) : []).entries()) {
    const kind = typeof name === "string" && Object.hasOwn(IMPORTS, name) ? IMPORTS[name] : undefined;
    if (kind !== undefined) locations.push(...(await findConfigs({ ...surroundings, dialects: [kind] })));
    else {
      const line = document.lineOf(["imports", index]);
      const message = "is not a program whose files are known; it is left out";
      warnings.push({ file, line, path: `imports[${index}]`, message });
    }
  }
  return { locations, warnings };
}
