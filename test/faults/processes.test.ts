/** Faults of processes: servers that crash, hang, flood or will not go, and hosts that die. */
import { LEAN_SERVER } from "../fixtures/stdio-peer.js";
import { faultCase } from "./fault-case.js";

faultCase("P02", "exit 1 with stderr", async (room) => {
  const toolport = room.open({
    it: { command: process.execPath, args: [LEAN_SERVER, "--stderr=no key", "--exit=1"] },
  });
  await room.fails(toolport.callTool("it__echo"), { code: "SPAWN_FAILED", server: "it", withinMs: 1_000 });
});
