// Loaded into a server before it starts: notes how long its event loop stood still, in the file PROBE_FILE.
import { appendFileSync, readFileSync } from "node:fs";
import { env } from "node:process";

/** Milliseconds: shorter gaps between two turns are not noted. */
const SHORTEST = 5;

/** Milliseconds for which this thread was ready and waited for a processor that other programs had. */
const waited = () => Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[1]) / 1e6;

const file = env["PROBE_FILE"];
if (file) {
  let last = { at: performance.now(), waited: waited() };
  setInterval(() => {
    const now = { at: performance.now(), waited: waited() };
    const gap = now.at - last.at - (now.waited - last.waited);
    if (gap >= SHORTEST) appendFileSync(file, `${gap}\n`);
    last = now;
  }, 1).unref();
}
