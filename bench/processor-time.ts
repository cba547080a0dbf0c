// Processor time of processes, as Linux counts it.
import { readFileSync } from "node:fs";

/** The fields of /proc/PID/stat after the command's name, which may contain spaces. */
export function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** User and system time of all threads of these processes in seconds; Linux counts in hundredths. */
export function processorTimeOf(pids: number[]): number {
  return pids.map(statOf).reduce((sum, stat) => sum + (Number(stat[11]) + Number(stat[12])) / 100, 0);
}

/** Milliseconds for which the first thread of a process, the one that answers, has had a processor. */
export const threadTimeOf = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;
