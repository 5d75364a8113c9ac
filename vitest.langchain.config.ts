/** The LangChain adapter's tests with another version of `@langchain/core`: started by `scripts/langchain-versions.mjs`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig, mergeConfig } from "vitest/config";
import shared from "./vitest.shared.js";

const CORE = "@langchain/core";

/** What `exports` of a package may lead to. */
type Target = string | { readonly [condition: string]: Target };

const importOf = (target: Target): string =>
  typeof target === "string" ? target : importOf(target["import"] ?? target["default"]!);

const folder = process.env["LANGCHAIN_CORE"];
if (folder === undefined) throw new Error("Set LANGCHAIN_CORE to the folder of a @langchain/core");
const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
  exports: Record<string, Target>;
};

export default mergeConfig(
  shared,
  defineConfig({
    plugins: [
      {
        name: "langchain-core-version",
        enforce: "pre",
        resolveId(source: string) {
          if (source !== CORE && !source.startsWith(`${CORE}/`)) return null;
          const target = exports[`.${source.slice(CORE.length)}`];
          return target === undefined ? null : join(folder, importOf(target));
        },
      },
    ],
  }),
);
