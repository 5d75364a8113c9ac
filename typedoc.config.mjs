/** The documentation site: the guides of docs/ and the API reference, written to .cache/site/ by `npm run docs`. */
import { readFileSync } from "node:fs";

const { exports } = JSON.parse(
  readFileSync(new URL("packages/toolport/package.json", import.meta.url), "utf8"),
);

/** @type {Partial<import("typedoc").TypeDocOptions>} */
export default {
  name: "Toolport",
  plugin: ["./scripts/site/plugin.mjs"],
  out: ".cache/site",
  readme: "README.md",
  projectDocuments: [
    "docs/**/*.md",
    "examples/**/*.md",
    "bench/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "REVIEW.md",
    "SECURITY.md",
  ],
  entryPoints: Object.values(exports).flatMap((entry) =>
    typeof entry === "string"
      ? []
      : entry.import.types
          .replace(/^\.\/dist\/(?=[^/]*$)/, "./dist/toolport/")
          .replace(/^\.\/dist\/([^/]+)\/(.*)\.d\.ts$/, "packages/$1/src/$2.ts"),
  ),
  tsconfig: "tsconfig.build.json",
  // `npm run typecheck` reports type errors. Checking them again doubles the time.
  skipErrorChecking: true,
  disableSources: true,
  excludeInternal: true,
  excludePrivate: true,
  excludeExternals: true,
  includeHierarchySummary: false,
  sortEntryPoints: false,
  headings: { readme: false, document: false },
  // Not in comments: that makes the index half as large again, and names lead to the same pages.
  searchInDocuments: true,
  // Guides first; a property of the same name is on many pages.
  searchGroupBoosts: { Documents: 4, Properties: 0.1, Methods: 0.5, Constructors: 0.1 },
  navigation: { includeGroups: false, includeFolders: false },
  visibilityFilters: {},
  favicon: "packages/console/src/page/icon.svg",
  customCss: "scripts/site/site.css",
  lightHighlightTheme: "github-light-high-contrast",
  darkHighlightTheme: "github-dark-high-contrast",
  highlightLanguages: [
    ...["typescript", "javascript", "json", "jsonc", "shellscript", "console", "diff", "markdown", "python"],
    ...["toml", "yaml", "nginx", "ini", "docker", "html", "css", "sql", "java", "kotlin"],
  ],
  // Languages without a grammar in Shiki.
  ignoredHighlightLanguages: ["cedar", "rego", "text", "txt", "http", "env"],
  // TypeDoc leaves code out of the text of a heading, and so out of anchors and the list of contents.
  markdownItLoader: (parser) =>
    parser.core.ruler.push("code-in-headings", ({ tokens, Token }) => {
      for (const [index, { type }] of tokens.entries()) {
        if (type !== "heading_open") continue;
        for (const part of tokens[index + 1].children.filter((child) => child.type === "code_inline"))
          part.children = [Object.assign(new Token("text", "", 0), { content: part.content })];
      }
    }),
  validation: { notExported: false, invalidLink: true, rewrittenLink: true, notDocumented: false },
};
