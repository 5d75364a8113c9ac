/** Every code block of the README of `@langchain/mcp-adapters` 1.1.4 is known and compiles. */
import { describe, expect, it } from "vitest";
import { checkSnippets } from "../../../test/docs/check-snippets.js";
import { original, repaired } from "./readme-blocks.js";
import { README_BLOCKS } from "./readme-repairs.js";

/** Names that the blocks use without declaring them: stand-ins, a browser's storage, and the class of a later block. */
const AMBIENT = `import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
declare global {
  const servers: Record<"math" | "filesystem" | "data" | "image" | "everything", { command: string; args: string[] }> &
    Record<"weather" | "protected" | "github" | "mathOverHttp" | "closed", { url: string }>;
  const served: () => Promise<void>;
  const localStorage: { getItem(key: string): string | null; setItem(key: string, value: string): void };
  const MyOAuthProvider: new (config: { redirectUrl: string; clientMetadata: object }) => OAuthClientProvider;
}
`;

describe("the README", () => {
  it("has no TypeScript block that this file omits", () => {
    const typed = original.flatMap(({ language }, index) =>
      /^ts|^typescript/.test(language) ? [index + 1] : [],
    );
    expect(README_BLOCKS.map(({ block }) => block)).toEqual(typed);
  });

  it("type-checks, block by block", { timeout: 240_000 }, () => {
    const snippets = [...repaired].map(([block, text]) => ({
      path: `block ${block}`,
      line: 1,
      text,
    }));
    // The README assumes a project without `strict`: it narrows neither `find` nor `catch`.
    expect(checkSnippets(snippets, { ambient: AMBIENT, compilerOptions: { strict: false } })).toEqual([]);
  });
});
