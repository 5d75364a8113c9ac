/** Gives every test file a folder of its own for temporary files: what another file makes meanwhile is no leak of this one. */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

const outer = tmpdir();
const folder = mkdtempSync(join(outer, "fault-file-"));
// Database servers run as somebody else, and have to get through to their own folder.
chmodSync(folder, 0o711);
process.env["TMPDIR"] = folder;

afterAll(() => {
  process.env["TMPDIR"] = outer;
  rmSync(folder, { recursive: true, force: true });
});
