/** Replicas under fire, in short: `npm run replicas` is the whole run. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { withoutPostgres } from "../../../test/support/postgres-service.js";
import { withoutRedis } from "../../../test/support/redis-service.js";

const SCRIPT = fileURLToPath(new URL("../../../scripts/replicas.mjs", import.meta.url));
const SIZE = ["--calls", "150", "--seconds", "10", "--users", "6"];

describe("three replicas, one killed with -9 every 2 s", () => {
  for (const [store, isMissing] of [
    ["redis", withoutRedis],
    ["postgres", withoutPostgres],
  ] as const) {
    test.skipIf(isMissing)(
      `no call crosses users, runs twice or fails without a reason, over ${store}`,
      async () => {
        const child = spawn(process.execPath, [SCRIPT, "--store", store, ...SIZE], {
          stdio: ["ignore", "pipe", "pipe"],
        });
        let output = "";
        for (const stream of [child.stdout, child.stderr]) {
          stream.setEncoding("utf8").on("data", (text: string) => {
            output += text;
          });
        }
        const [code] = await once(child, "close");
        expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining('"calls":150') });
      },
    );
  }
});
