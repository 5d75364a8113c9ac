/** Many processes on one SQLite file. */
import { isLong, testProcessesOnDisk } from "../contract/store-on-disk-processes.js";
import { useStateFolder } from "../support/state-folder.js";
import { SQLITE } from "../support/store-kill-round.js";

testProcessesOnDisk(useStateFolder("state.db"), {
  ...SQLITE,
  fileName: "state.db",
  rounds: isLong ? 200 : 12,
  updatesEach: isLong ? 1_250 : 150,
  leftovers: /-(wal|shm)$|\.key\.[\w-]+$/,
});
