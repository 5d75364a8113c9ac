/** Finds every module that a source text loads: imports, re-exports, `import()` and `require()`. Separates types from values. */
import ts from "typescript";

/** One import of another module. */
export interface ImportStatement {
  readonly specifier: string;
  readonly line: number;
  /** `type` is erased by the compiler, `static` is loaded with the file, `dynamic` when the line runs. */
  readonly kind: "type" | "static" | "dynamic";
  /** Loaded by `require()`, so that a package resolves to its CommonJS files. */
  readonly isRequire: boolean;
}

/** By text: several rules read the same sources. */
const known = new Map<string, readonly ImportStatement[]>();

/** All imports in `text`, in order. */
export function findImports(fileName: string, text: string): readonly ImportStatement[] {
  const key = `${fileName}\n${text}`;
  const found = known.get(key) ?? parseImports(fileName, text);
  known.set(key, found);
  return found;
}

function parseImports(fileName: string, text: string): ImportStatement[] {
  const source = ts.createSourceFile(fileName, text, {
    languageVersion: ts.ScriptTarget.Latest,
    jsDocParsingMode: ts.JSDocParsingMode.ParseNone,
  });
  // Other statements than imports and exports have to be searched only if they can load something.
  const isNested = /\b(?:import|require)\s*\(/.test(text);
  const found: ImportStatement[] = [];
  const add = (
    node: ts.Node,
    specifier: ts.Node | undefined,
    kind: ImportStatement["kind"],
    isRequire = false,
  ) => {
    if (!specifier || !ts.isStringLiteralLike(specifier)) return;
    const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
    found.push({ specifier: specifier.text, line, kind, isRequire });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) {
      add(node, node.moduleSpecifier, isTypeOnly(node.importClause) ? "type" : "static");
    } else if (ts.isExportDeclaration(node)) {
      add(node, node.moduleSpecifier, node.isTypeOnly ? "type" : "static");
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add(node, node.argument.literal, "type");
    } else if (ts.isImportEqualsDeclaration(node) && ts.isExternalModuleReference(node.moduleReference)) {
      add(node, node.moduleReference.expression, node.isTypeOnly ? "type" : "static");
    } else if (ts.isCallExpression(node)) {
      const { expression } = node;
      if (expression.kind === ts.SyntaxKind.ImportKeyword) add(node, node.arguments[0], "dynamic");
      else if (ts.isIdentifier(expression) && expression.text === "require")
        add(node, node.arguments[0], "static", true);
    }
    if (isNested || node === source) ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

// `import { type A } from "x"` still loads "x" under verbatimModuleSyntax, so only `import type` counts as erased.
function isTypeOnly(clause: ts.ImportClause | undefined): boolean {
  return clause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
}
