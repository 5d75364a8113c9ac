/** docs/gateway.md and the files of examples/deploy: entries for clients as the program prints them, options, commands. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../packages/cli/src/commands.js";
import { parseCommandLine } from "../../packages/cli/src/parse-command-line.js";
import { createCommandLinePlace } from "../support/command-line.js";
import { findProgram } from "../support/local-service.js";
import { root } from "./markdown.js";

const page = readFileSync(join(root, "docs/gateway.md"), "utf8");
const deploy = (name: string) => readFileSync(join(root, "examples/deploy", name), "utf8");

const systemdAnalyze = findProgram("systemd-analyze");

const PRINTED = /<!-- printed by: toolport (.+?) -->\n\n```\w+\n(.*?)```/gs;
const printed = [...page.matchAll(PRINTED)].map(([, line = "", text = ""]) => ({ line, text }));

/** Paths of this machine become those of the page. */
const toPage = (text: string, project: string): string =>
  text
    .replaceAll(process.execPath, "/usr/bin/node")
    .replaceAll(realpathSync(process.argv[1]!), "/usr/lib/node_modules/toolport/dist/cli/main.js")
    .replaceAll(project, "/srv");

describe("entries for clients", () => {
  it("are on the page for several clients", () => {
    expect(printed.length).toBeGreaterThan(5);
  });

  it.each(printed)("$line", async ({ line, text }) => {
    using place = createCommandLinePlace();
    const { code, stdout } = await place.run(line.split(" "));
    expect({ code, text: toPage(stdout, place.project) }).toEqual({ code: 0, text });
  });
});

describe("options", () => {
  it.each(Object.keys(COMMANDS.find(({ name }) => name === "serve")!.options))(
    "--%s is in the table",
    (name) => {
      const row = page.split("\n").find((line) => line.startsWith("| `--") && line.includes(`--${name}`));
      expect(row).toBeDefined();
    },
  );

  it("are parsed in every command of the page and the files", () => {
    const inPage = [...page.matchAll(/^\$? ?toolport (serve\b.*)$/gm)].map(([, line = ""]) =>
      line.replace(/\s+#.*/, ""),
    );
    const unit = /^ExecStart=\S+ (.*)$/m.exec(deploy("toolport-gateway.service"))?.[1] ?? "";
    const entryPoint = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(deploy("Containerfile"))?.[1] ?? "") as string[];
    const command = JSON.parse(/command: (\["--.*\])$/m.exec(deploy("compose.yaml"))?.[1] ?? "") as string[];
    const lines = [...inPage, unit].map((line) => line.split(" "));
    for (const words of [...lines, [...entryPoint.slice(1), ...command]])
      expect(parseCommandLine(words, COMMANDS)).toMatchObject({ wants: "run" });
    expect(inPage.length).toBeGreaterThan(3);
  });
});

describe("files for the deployment", () => {
  it("the settings of nginx on the page are those of the file", () => {
    const lines = deploy("nginx.conf")
      .split("\n")
      .map((line) => line.trim());
    const blocks = [...page.matchAll(/```nginx\n(.*?)```/gs)].flatMap(([, text = ""]) =>
      text.trim().split("\n"),
    );
    expect(blocks.map((line) => line.trim()).filter((line) => !lines.includes(line))).toEqual([]);
  });

  it("the version in the container is that of the package", () => {
    const { version } = JSON.parse(readFileSync(join(root, "packages/toolport/package.json"), "utf8")) as {
      version: string;
    };
    expect(deploy("Containerfile")).toContain(`toolport@${version} `);
  });

  it.skipIf(systemdAnalyze === undefined)("systemd accepts the unit (needs systemd-analyze)", () => {
    const folder = mkdtempSync(join(tmpdir(), "toolport-unit-"));
    try {
      const file = join(folder, "toolport-gateway.service");
      // The program must exist.
      writeFileSync(file, deploy("toolport-gateway.service").replace("/usr/bin/toolport", process.execPath));
      const output = execFileSync(systemdAnalyze!, ["verify", file], { encoding: "utf8", stdio: "pipe" });
      expect(output).toBe("");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
