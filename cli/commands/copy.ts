// `podkeep copy`: moves everything between a file and PostgreSQL, in either direction.
import type { Command } from "commander";
import type { Copied, Progress } from "../../src/services/transfer.ts";
import { settingsOf } from "../flags.ts";
import { printResult } from "../terminal/output.ts";

const ADDRESS = "postgres://… or the path of a database file";
/** Milliseconds between two lines of progress. */
const PAUSE = 200;

export function addCopyCommand(program: Command): void {
  const command = program
    .command("copy")
    .description("Copy users, tokens, subscriptions and deletions to another database; stop all servers first")
    .requiredOption("--from <address>", `where everything is: ${ADDRESS}`)
    .requiredOption("--to <address>", `an empty database, or one that an interrupted copy left: ${ADDRESS}`)
    .addHelpText(
      "after",
      "\nExample: podkeep copy --from /var/lib/podkeep/podkeep.db --to postgres://podkeep@db/podkeep",
    )
    .action(() => run(command));
}

async function run(command: Command): Promise<void> {
  const { config } = settingsOf(command);
  const { from, to } = command.opts<{ from: string; to: string }>();
  const { copy } = await import("../../src/services/transfer.ts");
  const copied = await copy(from, to, config, process.stderr.isTTY ? showProgress() : () => {});
  await printResult(command, copied, () => describe(copied));
}

function showProgress(): (progress: Progress) => void {
  let shown = 0;
  const start = performance.now();
  return ({ step, users, of, rows }) => {
    const now = performance.now();
    if (users < of && now - shown < PAUSE) return;
    shown = now;
    const seconds = Math.round((now - start) / 1000);
    process.stderr.write(
      `\r\x1b[K${step}: ${users} of ${of} users, ${rows} rows, ${seconds} s${users === of ? "\n" : ""}`,
    );
  };
}

function describe({ counts, checksum }: Copied): string {
  const rows = Object.entries(counts).map(([table, count]) => `${table}\t${count}`);
  return ["Copied, read again and found equal:", ...rows, `SHA-256\t${checksum}`].join("\n");
}
