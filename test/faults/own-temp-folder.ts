/** Gives every test file its own folder for temporary files, so that files of parallel tests do not count as leaks. */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

const outer = tmpdir();
const folder = mkdtempSync(join(outer, "fault-file-"));
// Database servers run as another user and need access to their own folder.
chmodSync(folder, 0o711);
process.env["TMPDIR"] = folder;

afterAll(() => {
  process.env["TMPDIR"] = outer;
  rmSync(folder, { recursive: true, force: true });
});
