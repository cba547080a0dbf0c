// `podkeep copy`: copies all data between a file and PostgreSQL.
import type { Command } from "commander";
import type { Copied, Progress } from "../../src/services/transfer.ts";
import { availableSettings } from "../flags.ts";
import { workInterruptibly } from "../terminal/interruption.ts";
import { clearLine, isTerminal, layTable, printResult, STDERR } from "../terminal/output.ts";

/** Milliseconds between progress updates. */
const PAUSE = 200;

export function addCopyCommand(program: Command): void {
  program
    .command("copy")
    .description("Copy all data to another database; stop all servers first")
    .requiredOption("--from <database>", "source: a postgres:// URL or the path of a database file")
    .requiredOption("--to <database>", "target, in the same form: empty, or left by an interrupted copy")
    .addHelpText("after", "\nExample:\n  podkeep copy --from podkeep.db --to postgres://podkeep@db.example.org/podkeep")
    .action(run);
}

async function run({ from, to }: { from: string; to: string }, command: Command): Promise<void> {
  const { config } = availableSettings(command);
  const { copy } = await import("../../src/services/transfer.ts");
  const copied = await workInterruptibly(
    command,
    () => "The source is as it was, the target is not complete: run the same podkeep copy again",
    () => copy(from, to, config, isTerminal(STDERR) ? showProgress() : () => {}),
  );
  await printResult(command, copied, () => describe(copied));
}

function showProgress(): (progress: Progress) => void {
  let shown = 0;
  const start = performance.now();
  return ({ step, users, of, rows }) => {
    const now = performance.now();
    // Such as of a target that is empty.
    if (of === 0) return;
    if (users < of && now - shown < PAUSE) return;
    shown = now;
    const seconds = Math.round((now - start) / 1000);
    process.stderr.write(
      `${clearLine()}${step}: ${users} of ${of} users, ${rows} rows, ${seconds} s${users === of ? "\n" : ""}`,
    );
  };
}

function describe({ counts, checksum }: Copied): string {
  const rows = Object.entries(counts).map(([table, count]) => [table, String(count)]);
  return `Copied and verified:\n${layTable(["TABLE", "ROWS"], rows, "")}\nSHA-256 ${checksum}`;
}
