/** Finds every module a source text asks for: imports, re-exports, `import()` and `require()`, types told from values. */
import ts from "typescript";
/** All requests in `text`, in the order they stand. */
export function findImports(fileName, text) {
    const source = ts.createSourceFile(fileName, text, ts.ScriptTarget.Latest, true);
    const found = [];
    const add = (node, specifier, kind, isRequire = false) => {
        if (!specifier || !ts.isStringLiteralLike(specifier))
            return;
        const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
        found.push({ specifier: specifier.text, line, kind, isRequire });
    };
    const visit = (node) => {
        if (ts.isImportDeclaration(node)) {
            add(node, node.moduleSpecifier, isTypeOnly(node.importClause) ? "type" : "static");
        }
        else if (ts.isExportDeclaration(node)) {
            add(node, node.moduleSpecifier, node.isTypeOnly ? "type" : "static");
        }
        else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
            add(node, node.argument.literal, "type");
        }
        else if (ts.isImportEqualsDeclaration(node) && ts.isExternalModuleReference(node.moduleReference)) {
            add(node, node.moduleReference.expression, node.isTypeOnly ? "type" : "static");
        }
        else if (ts.isCallExpression(node)) {
            const { expression } = node;
            if (expression.kind === ts.SyntaxKind.ImportKeyword)
                add(node, node.arguments[0], "dynamic");
            else if (ts.isIdentifier(expression) && expression.text === "require")
                add(node, node.arguments[0], "static", true);
        }
        ts.forEachChild(node, visit);
    };
    visit(source);
    return found;
}
// `import { type A } from "x"` still loads "x" under verbatimModuleSyntax, so only `import type` counts as erased.
function isTypeOnly(clause) {
    return clause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
}
