// `npm run bench`: builds both executables, runs the measures and prints one table.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { describeMachine } from "./machine.ts";
import { measureAttacks } from "./measures/attacks.ts";
import { measureDeletions } from "./measures/deletions.ts";
import { measureExecutable } from "./measures/executable.ts";
import { measureFeeds } from "./measures/feeds.ts";
import { measureGpodder } from "./measures/gpodder.ts";
import { measureGrowth } from "./measures/growth.ts";
import { measureListening } from "./measures/listening.ts";
import { measureLogins } from "./measures/logins.ts";
import { measureLookups } from "./measures/lookups.ts";
import { measurePage } from "./measures/page.ts";
import { measurePhone } from "./measures/phone.ts";
import { measureReads } from "./measures/reads.ts";
import { measureWorst } from "./measures/worst.ts";
import { measureWrites } from "./measures/writes.ts";
import { readCount, readOrEnd } from "./options.ts";
import { build, endOfServer, killServers } from "./programs.ts";
import type { Bench } from "./rounds.ts";
import { figureOf, formatTable, isMet, type Line } from "./table.ts";

const MEASURES: Record<string, (bench: Bench) => Promise<Line[]>> = {
  reads: measureReads,
  writes: measureWrites,
  gpodder: measureGpodder,
  phone: measurePhone,
  listening: measureListening,
  logins: measureLogins,
  growth: measureGrowth,
  deletions: measureDeletions,
  lookups: measureLookups,
  feeds: measureFeeds,
  page: measurePage,
  worst: measureWorst,
  attacks: measureAttacks,
  executable: measureExecutable,
};

const USAGE = `npm run bench -- [options]
  --only NAMES   run only these, separated by commas: ${Object.keys(MEASURES).join(", ")}
  --rounds N     rounds (default: 5)
  --seconds N    duration of each load (default: 3); memory is measured after 20 times that
  --opodsync DIR also send a phone's requests to oPodSync (https://github.com/kd2org/opodsync), whose source is
                 in DIR; needs php-cli, php-sqlite3 and php-xml
  --json FILE    also write the table as JSON
Example: npm run bench -- --only reads --rounds 1 --seconds 1`;

function readOptions() {
  const { values } = parseArgs({
    options: {
      only: { type: "string", default: Object.keys(MEASURES).join(",") },
      rounds: { type: "string", default: "5" },
      seconds: { type: "string", default: "3" },
      opodsync: { type: "string" },
      json: { type: "string" },
      help: { type: "boolean" },
    },
  });
  const { help, json, only, opodsync } = values;
  const measures = only.split(",").map((name) => {
    const measure = MEASURES[name];
    if (!measure) throw new Error(`--only ${only}: no benchmark is called "${name}"`);
    return measure;
  });
  const [rounds, seconds] = [readCount("--rounds", values.rounds), readCount("--seconds", values.seconds)];
  return { measures, rounds, seconds, opodsync, json, help };
}

const { measures, json, help, ...load } = readOrEnd(readOptions, `\n${USAGE}`);
if (help) {
  console.log(USAGE);
  process.exit(0);
}

const folder = mkdtempSync(join(tmpdir(), "podkeep-bench-"));
try {
  const bench: Bench = { programs: build(join(folder, "programs")), folder, ...load };
  const lines: Line[] = [];
  for (const measure of measures) lines.push(...(await Promise.race([measure(bench), endOfServer])));
  const machine = describeMachine();
  console.log(`${machine}\n\n${formatTable(lines)}`);
  const results = lines.map((line) => ({ ...line, figure: figureOf(line), met: isMet(line) }));
  if (json) await Bun.write(json, `${JSON.stringify({ machine, results }, null, 2)}\n`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  killServers();
  rmSync(folder, { recursive: true, force: true });
}
// What a measure that failed still waits for must not keep the process.
process.exit();
