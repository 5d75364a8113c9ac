/** Makes a site of TypeDoc's output: titles, addresses and order of the guides, examples as pages, search by section. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, extname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import {
  Application,
  Converter,
  DefaultTheme,
  IndexEvent,
  JSX,
  KindRouter,
  Models,
  normalizePath,
  PageEvent,
  Slugger,
} from "typedoc";

const root = fileURLToPath(new URL("../..", import.meta.url));
const manifest = JSON.parse(readFileSync(join(root, "packages/toolport/package.json"), "utf8"));

/** The name that TypeDoc derives from the source of an entry point: `adapters/src/langchain` for `./dist/adapters/langchain/index.d.ts`. */
const moduleOf = (types) => {
  const path = types.replace(/^\.\/dist\/|(\/index)?\.d\.ts$/g, "");
  return path === "index" ? "toolport/src" : path.replace("/", "/src/").replace(/^[^/]+$/, "$&/src");
};

/** From that name to the entry point, such as `toolport/langchain`. */
const entryPoints = new Map(
  Object.entries(manifest.exports).flatMap(([path, entry]) =>
    typeof entry === "string" ? [] : [[moduleOf(entry.import.types), join(manifest.name, path)]],
  ),
);

const LANGUAGES = { ".ts": "ts", ".cjs": "js", ".json": "json", ".yaml": "yaml", ".conf": "nginx" };

/** Files that pages link to and that a browser would download: each becomes a page with its code. */
const codeFiles = [
  ...readdirSync(join(root, "examples"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".md"))
    .map((entry) => join(entry.parentPath, entry.name)),
  ...manifest.files.filter((path) => /^LICENSE$|\.json$/.test(path)).map((path) => join(root, path)),
];

/** The repository path of a document, such as `docs/calls.md`. */
const pathOf = (document) => relative(root, document.project.files.getReflectionPath(document));

/** @param {import("typedoc").Application} app */
export function load(app) {
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document) => {
    const title = /^# (.+)$/m.exec(document.content.map(({ text }) => text).join(""))?.[1];
    if (title !== undefined) document.name = title.replaceAll("`", "");
  });
  app.converter.on(Converter.EVENT_BEGIN, ({ project }) => {
    for (const file of codeFiles) addCodePage(project, file);
  });
  app.converter.on(Converter.EVENT_CREATE_DECLARATION, (_context, declaration) => {
    if (declaration.kind === Models.ReflectionKind.Module)
      declaration.name = entryPoints.get(declaration.name) ?? declaration.name;
  });
  app.renderer.on(IndexEvent.PREPARE_INDEX, (event) => addSections(app.renderer.router, event));
  app.renderer.on(PageEvent.END, finishPage);
  app.renderer.hooks.on("body.begin", () =>
    JSX.createElement("a", { class: "skip-link", href: "#content" }, "Skip to the content"),
  );
  app.renderer.defineTheme("site", SiteTheme);
  app.renderer.defineRouter("site", SiteRouter);
  app.on(Application.EVENT_BOOTSTRAP_END, () => {
    app.options.setValue("theme", "site");
    app.options.setValue("router", "site");
  });
}

function addCodePage(project, file) {
  const path = normalizePath(relative(root, file));
  const fence = "`````";
  const code = `${fence}${LANGUAGES[extname(file)] ?? "text"}\n${readFileSync(file, "utf8")}${fence}\n`;
  const content = [
    { kind: "text", text: `# ${path}\n\n` },
    { kind: "code", text: code },
  ];
  const document = new Models.DocumentReflection(path, project, content, {});
  project.addChild(document);
  project.registerReflection(document, undefined, normalizePath(file));
}

/** Addresses follow the repository: `docs/calls.html`, `examples/approve.ts.html`; the reference is below `api/`. */
class SiteRouter extends KindRouter {
  /** Search results inside a page: see `addSections`. */
  sections = new Map();

  getIdealBaseName(reflection) {
    if (!reflection.isDocument()) return `api/${super.getIdealBaseName(reflection)}`;
    return normalizePath(pathOf(reflection))
      .replace(/\.md$/, "")
      .replace(/\/README$/, "/index");
  }

  getFullUrl(target) {
    return this.sections.get(target) ?? super.getFullUrl(target);
  }
}

/** The sections of docs/README.md and their guides in that order; then decisions, examples, the project, the reference. */
class SiteTheme extends DefaultTheme {
  buildNavigation(project) {
    const documents = new Map(project.documents.map((document) => [pathOf(document), document]));
    const toElement = (reflection) => ({
      text: reflection.name,
      path: this.router.getFullUrl(reflection),
    });
    const take = (paths) =>
      [...new Set(paths)].flatMap((path) => {
        const document = documents.get(path);
        documents.delete(path);
        return document === undefined ? [] : [toElement(document)];
      });
    const matching = (pattern) => take([...documents.keys()].filter((path) => pattern.test(path)));

    const overview = take(["docs/README.md"]);
    const aboutTheProject = take([
      "CHANGELOG.md",
      "CONTRIBUTING.md",
      "REVIEW.md",
      "SECURITY.md",
      "bench/README.md",
    ]);
    const decisions = matching(/^docs\/decisions\//);
    const examples = take(["examples/README.md", ...linksOf("examples/README.md")]);
    const guides = sectionsOf("docs/README.md").map(({ title, links }) => ({
      text: title,
      children: take(links),
    }));
    // A guide that the overview forgets stays reachable.
    const others = matching(/^docs\//);
    return [
      ...overview,
      ...guides,
      { text: "Other guides", children: others },
      { text: "Decisions", children: decisions },
      { text: "Examples", children: examples },
      { text: "Project", children: aboutTheProject },
      {
        text: "API reference",
        children: [{ text: "Overview", path: "modules.html" }, ...project.children.map(toElement)],
      },
    ].filter(({ children }) => children?.length !== 0);
  }
}

/** The level-2 headings of a page with the files that are linked below each. */
function sectionsOf(page) {
  return readFileSync(join(root, page), "utf8")
    .split(/^## /m)
    .slice(1)
    .map((text) => ({ title: text.slice(0, text.indexOf("\n")), links: linksIn(page, text) }));
}

const linksOf = (page) => linksIn(page, readFileSync(join(root, page), "utf8"));

const linksIn = (page, text) =>
  [...text.matchAll(/\]\(([^)\s#]+)[^)]*\)/g)].map(([, target]) =>
    relative(root, resolve(root, dirname(page), target)),
  );

/** Adds each section of a guide to the search, so that a result leads to its place on a long page. */
function addSections(router, event) {
  // Types without a name have no place of their own on a page.
  event.searchResults = event.searchResults.filter(({ name }) => name !== "__type");
  for (const [index, document] of event.searchResults.entries()) {
    if (!document.isDocument()) continue;
    const [introduction, ...sections] = splitAtHeadings(document.content.map(({ text }) => text).join(""));
    event.searchFields[index] = { document: wordsOf(introduction.body) };
    const slugger = new Slugger({ lowercase: true });
    for (const { heading, body } of sections) {
      const content = [{ kind: "text", text: wordsOf(body) }];
      const section = new Models.DocumentReflection(heading, document, content, {});
      router.sections.set(section, `${router.getFullUrl(document)}#${slugger.slug(heading)}`);
      event.searchResults.push(section);
    }
  }
}

/** The text before the first heading below the title, then each of these headings with its text. */
function splitAtHeadings(text) {
  const sections = [{ heading: "", body: "" }];
  let isCode = false;
  for (const line of text.split("\n")) {
    if (line.trimStart().startsWith("```")) isCode = !isCode;
    const heading = isCode ? undefined : /^##+ +(.+)$/.exec(line)?.[1];
    if (heading !== undefined) sections.push({ heading: heading.replaceAll("`", ""), body: "" });
    else sections.at(-1).body += `${line}\n`;
  }
  return sections;
}

/** Numbers and punctuation would double the size of the index. */
const wordsOf = (text) => [...new Set(text.match(/[\p{L}_$][\p{L}\p{N}_$]+/gu))].join(" ");

/** Landmarks and keyboard access that TypeDoc lacks, and links that also work on files without a server. */
function finishPage(page) {
  const isTopLevel = page.model.parent?.isProject();
  page.contents = page.contents
    ?.replace('<div class="col-content">', '<div class="col-content" id="content" role="main" tabindex="-1">')
    // The first entry of the menu: TypeDoc links the reference there, not the start page.
    .replace(
      /(<nav class="tsd-navigation"><a href="[^"]*?)modules\.html("[^>]*>)[^<]*/,
      "$1index.html$2Start",
    )
    .replace(isTopLevel ? /<ul class="tsd-breadcrumb".*?<\/ul>/s : "", "")
    .replace(/href="((?:\.\.?\/)+)(#[^"]*)?"/g, 'href="$1index.html$2"')
    .replaceAll("<pre>", '<pre tabindex="0">')
    .replaceAll("<table>", '<div class="table" tabindex="0"><table>')
    .replaceAll("</table>", "</table></div>");
}
