import { expect, it } from "vitest";
import { join } from "node:path";
import { walkModules } from "./module-graph.js";
import { root } from "./source-files.js";
it.each([["workerd"],["browser"],["bun"],["node"]])("%s", (c) => {
  const all = walkModules(join(root, "dist/schema/sdk-validator.js"), { conditions: [c], browserField: true });
  const all2 = walkModules(join(root, "dist/schema/create-validator.js"), { conditions: [c], browserField: true });
  const st = walkModules(join(root, "dist/schema/create-validator.js"), { conditions: [c], staticOnly: true });
  console.log(c, all.length, all2.length, all2.filter(m => m.kind !== "file").map(m => m.id), st.map(m => m.id.split("/").pop()));
});
