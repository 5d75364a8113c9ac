/** Runs a code block of the documentation as a separate program. */
import ts from "typescript";

/** The packages that code blocks may import; loaded when one does. */
const PACKAGES: Readonly<Record<string, () => Promise<object>>> = {
  "node:child_process": () => import("node:child_process"),
  "node:util": () => import("node:util"),
  "@ai-sdk/openai": () => import("@ai-sdk/openai"),
  "@langchain/core/tools": () => import("@langchain/core/tools"),
  "@langchain/openai": () => import("@langchain/openai"),
  langchain: () => import("langchain"),
  openai: () => import("openai"),
  toolport: () => import("toolport"),
  "toolport/langchain": () => import("toolport/langchain"),
  "toolport/openai": () => import("toolport/openai"),
  "toolport/code": () => import("toolport/code"),
  "toolport/registry": () => import("toolport/registry"),
  "toolport/schemas": () => import("toolport/schemas"),
  "toolport/testing": () => import("toolport/testing"),
};

/** The output of a program. */
export interface SnippetOutput {
  /** By `console.log`, each line as its values; a single value stands for itself. */
  readonly printed: unknown[];
  /** By the other methods of `console`: as a logger has them. */
  readonly logged: string[];
}

const AsyncFunction = (async () => {}).constructor as new (
  ...parts: string[]
) => (...values: unknown[]) => Promise<void>;

/**
 * @param names what the code may use besides what it imports
 * @param standIns packages in place of, or besides, those above
 */
export async function runSnippet(
  text: string,
  names: Readonly<Record<string, unknown>> = {},
  standIns: Readonly<Record<string, () => Promise<object>>> = {},
): Promise<SnippetOutput> {
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: {
      module: ts.ModuleKind.CommonJS,
      target: ts.ScriptTarget.ES2022,
      esModuleInterop: true,
    },
  });
  const packages = new Map<string, unknown>();
  for (const [, name = ""] of outputText.matchAll(/require\("([^"]+)"\)/g)) {
    const load = standIns[name] ?? PACKAGES[name];
    if (load === undefined) throw new Error(`A code block imports ${name}, which is not among the packages`);
    // The marker of a default export in compiled code.
    packages.set(name, { ...(await load()), __esModule: true });
  }
  const output: SnippetOutput = { printed: [], logged: [] };
  const log = (message: string) => void output.logged.push(message);
  const scope = {
    exports: {},
    require: (name: string) => packages.get(name),
    console: {
      log: (...values: unknown[]) => output.printed.push(values.length === 1 ? values[0] : values),
      debug: log,
      info: log,
      warn: log,
      error: log,
    },
    ...names,
  };
  // In a separate block, so that the code may declare the same names.
  await new AsyncFunction(...Object.keys(scope), `{\n${outputText}\n}`)(...Object.values(scope));
  return output;
}
