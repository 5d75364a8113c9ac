/** Finds out which process holds the other end of a TCP connection. Linux only. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** Which of these processes has a socket bound to this local port. */
export function ownerOfPort(port: number, pids: readonly number[]): number | undefined {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  const lines = ["tcp", "tcp6"].flatMap((table) => readFileSync(`/proc/net/${table}`, "utf8").split("\n"));
  const inodes = lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local]) => local?.endsWith(`:${hex}`))
    .map((fields) => `socket:[${fields[9]}]`);
  return pids.find((pid) => socketsOf(pid).some((socket) => inodes.includes(socket)));
}

function socketsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((descriptor) => {
      try {
        return [readlinkSync(`/proc/${pid}/fd/${descriptor}`)];
      } catch {
        return []; // closed between two reads
      }
    });
  } catch {
    return [];
  }
}
