// `podkeep opml`: imports and exports subscription lists.
import { existsSync } from "node:fs";
import type { Command } from "commander";
import { DomainError, reasonOf } from "../../src/errors.ts";
import { plural } from "../../src/plural.ts";
import { replaceFile } from "../../src/replace-file.ts";
import { exportFeeds, importFeeds } from "../../src/services/subscriptions/imports.ts";
import { readInput } from "../input-file.ts";
import { confirm } from "../terminal/confirm.ts";
import { layFeeds, verbsOf } from "../terminal/imported-feeds.ts";
import { stateOfImport, workInterruptibly } from "../terminal/interruption.ts";
import { fileForOutput, printResult } from "../terminal/output.ts";
import { showProgress } from "../terminal/progress.ts";
import { withUser } from "../with-app.ts";

export function addOpmlCommands(program: Command): void {
  const opml = program.command("opml").description("Import and export subscriptions as OPML");
  opml
    .command("import <user> <file>")
    .description("Subscribe a user to the feeds of an OPML file; - reads standard input")
    .option("--dry-run", "show what would be added, and change nothing")
    .addHelpText("after", "\nExample: podkeep opml import ann subscriptions.opml --dry-run")
    .action(importFile);
  opml
    .command("export <user> [file]")
    .description("Write a user's subscriptions to a file (mode 0600), or to standard output without one or with -")
    .option("--yes", "replace an existing file without asking")
    .addHelpText("after", "\nExample: podkeep opml export ann ann.opml")
    .action(exportFile);
}

async function importFile(user: string, file: string, options: { dryRun?: boolean }, command: Command): Promise<void> {
  const { dryRun: dry_run = false } = options;
  const { decodeOpml, OpmlError, readOpml } = await import("../../src/domain/opml.ts");
  // Before the app opens, because root then works as the data directory's owner.
  const bytes = await readInput(file);
  const result = await workInterruptibly(
    command,
    () => stateOfImport(!dry_run),
    () =>
      withUser(command, user, async (app, actor) => {
        try {
          return await importFeeds(app, actor, readOpml(decodeOpml(bytes)), {
            dry_run,
            progress: (done, all) => showProgress("podcasts", done, all),
          });
        } catch (error) {
          if (error instanceof OpmlError) throw new DomainError("invalid", error.message);
          throw error;
        }
      }),
  );
  const { added, failed } = verbsOf(dry_run);
  await printResult(command, { dry_run, ...result }, () =>
    [
      `${result.added.length} ${added}, ${result.present.length} already subscribed, ${result.failed.length} ${failed}`,
      ...layFeeds(result, dry_run),
    ].join("\n"),
  );
  if (result.failed.length > 0) process.exitCode = 1;
}

async function exportFile(user: string, file: string | undefined, { yes }: { yes?: boolean }, command: Command) {
  const { writeOpml } = await import("../../src/domain/opml.ts");
  const { name, feeds, text } = await withUser(command, user, async (app, admin) => {
    const feeds = await exportFeeds(app, admin);
    const date_created = new Date(app.clock.now()).toUTCString();
    const title = `Subscriptions of ${admin.name}`;
    return { name: admin.name, feeds, text: [...writeOpml(feeds, { title, date_created })].join("") };
  });
  if (file === undefined || file === "-") {
    await printResult(command, { user: name, feeds: feeds.length, opml: text }, () => fileForOutput(text.trimEnd()));
    return;
  }
  if (existsSync(file)) await confirm(`Replace ${file}?`, yes);
  try {
    replaceFile(file, text, 0o600);
  } catch (error) {
    throw new DomainError("conflict", `${file} can't be written: ${reasonOf(error)}`);
  }
  await printResult(
    command,
    { user: name, feeds: feeds.length, file },
    () => `Wrote ${plural(feeds.length, "subscription")} to ${file}`,
  );
}
