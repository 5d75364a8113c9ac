/** Parses Markdown for the tests of the documentation: code blocks, links and headings. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

export interface CodeBlock {
  readonly language: string;
  /** The text after the language, such as `no-check`. */
  readonly notes: string;
  readonly text: string;
  /** 1-based line of the block's first line of code. */
  readonly line: number;
}

export interface Link {
  readonly target: string;
  readonly line: number;
}

export interface MarkdownFile {
  /** Relative to the repository, with forward slashes. */
  readonly path: string;
  readonly lines: readonly string[];
  readonly blocks: readonly CodeBlock[];
  readonly links: readonly Link[];
  /** Anchors of the headings, as GitHub generates them. */
  readonly anchors: ReadonlySet<string>;
}

/** The README and everything in docs/. */
export function readDocumentation(): MarkdownFile[] {
  const guides = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .map((name) => `docs/${name.replaceAll("\\", "/")}`)
    .filter((path) => path.endsWith(".md"));
  return ["README.md", ...guides.sort()].map(readMarkdown);
}

export function readMarkdown(path: string): MarkdownFile {
  const lines = readFileSync(join(root, path), "utf8").split("\n");
  const blocks: CodeBlock[] = [];
  const links: Link[] = [];
  const anchors = new Set<string>();
  let open: { language: string; notes: string; line: number } | undefined;
  for (const [index, line] of lines.entries()) {
    const fence = /^\s*```(\S*)\s*(.*)$/.exec(line);
    if (open !== undefined) {
      if (fence === null) continue;
      blocks.push({ ...open, text: lines.slice(open.line - 1, index).join("\n") });
      open = undefined;
    } else if (fence !== null) {
      open = { language: fence[1] ?? "", notes: fence[2] ?? "", line: index + 2 };
    } else {
      const heading = /^#+\s+(.*)$/.exec(line)?.[1];
      if (heading !== undefined) anchors.add(toAnchor(heading));
      for (const [, target = ""] of line.replace(/`[^`]*`/g, "").matchAll(/\]\(([^)\s]+)\)/g)) {
        links.push({ target, line: index + 1 });
      }
    }
  }
  if (open !== undefined) throw new Error(`${path}:${open.line - 1} opens a code block that is never closed`);
  return { path, lines, blocks, links, anchors };
}

function toAnchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(" ", "-");
}
