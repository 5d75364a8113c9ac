/** Lists every name that users can import, with its type. */
import { join } from "node:path";
import ts from "typescript";
import { published } from "./source-files.js";

const FLAGS =
  ts.TypeFormatFlags.NoTruncation |
  ts.TypeFormatFlags.InTypeAlias |
  ts.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope;

/** The public names of one entry point, one per line, members indented. */
export interface EntryReport {
  readonly entry: string;
  readonly lines: readonly string[];
  readonly names: readonly string[];
  /** Names without a documentation comment. */
  readonly undocumented: readonly string[];
}

/** @param entries declaration file of every entry point, by the name users import */
export function describeEntries(entries: Readonly<Record<string, string>>): EntryReport[] {
  const files = Object.values(entries).map((file) => join(published, file));
  const program = ts.createProgram(files, {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.esnext.disposable.d.ts"],
    types: ["node"],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
  });
  const checker = program.getTypeChecker();

  const typeText = (type: ts.Type) =>
    checker.typeToString(type, undefined, FLAGS).replace(/import\("[^"]*"\)\./g, "");
  const signatures = (type: ts.Type) =>
    [...type.getCallSignatures(), ...type.getConstructSignatures()].map((signature) =>
      checker.signatureToString(signature, undefined, FLAGS).replace(/import\("[^"]*"\)\./g, ""),
    );

  function members(type: ts.Type): string[] {
    return type
      .getProperties()
      .filter((property) => !property.name.startsWith("__#"))
      .flatMap((property) => {
        const name = property.name.replace(/^__@(\w+)@\d+$/, "[Symbol.$1]");
        const optional = property.flags & ts.SymbolFlags.Optional ? "?" : "";
        const own = checker.getTypeOfSymbol(property);
        const overloads = own.getCallSignatures().length > 1 ? signatures(own) : [typeText(own)];
        return overloads.map((text) => `  ${name}${optional}: ${text}`);
      })
      .sort();
  }

  const targetOf = (symbol: ts.Symbol) =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;

  function describe(symbol: ts.Symbol): string[] {
    const target = targetOf(symbol);
    const { name } = symbol;
    if (target.flags & ts.SymbolFlags.Class) {
      const made = checker.getDeclaredTypeOfSymbol(target);
      return [
        `class ${name}`,
        ...signatures(checker.getTypeOfSymbol(target)).map((text) => `  new ${text}`),
        ...members(made),
      ];
    }
    if (target.flags & ts.SymbolFlags.Interface)
      return [`interface ${name}`, ...members(checker.getDeclaredTypeOfSymbol(target))];
    if (target.flags & ts.SymbolFlags.TypeAlias)
      return [`type ${name} = ${typeText(checker.getDeclaredTypeOfSymbol(target))}`];
    const type = checker.getTypeOfSymbol(target);
    if (target.flags & ts.SymbolFlags.Function)
      return signatures(type).map((text) => `function ${name}${text}`);
    return [`const ${name}: ${typeText(type)}`];
  }

  return Object.entries(entries).map(([entry, file]) => {
    const source = program.getSourceFile(join(published, file));
    const module = source && checker.getSymbolAtLocation(source);
    if (!module) throw new Error(`${file} exports nothing. Run \`npm run build\` first.`);
    const symbols = checker.getExportsOfModule(module).sort((a, b) => (a.name < b.name ? -1 : 1));
    const undocumented = symbols.filter(
      (symbol) => targetOf(symbol).getDocumentationComment(checker).length === 0,
    );
    return {
      entry,
      lines: symbols.flatMap(describe),
      names: symbols.map(({ name }) => name),
      undocumented: undocumented.map(({ name }) => name),
    };
  });
}
