// `podkeep import`: moves a user in from another server, or from a file.
import { type Command, Option } from "commander";
import { printable } from "../../src/domain/printable.ts";
import { DomainError } from "../../src/errors.ts";
import type { ServerType } from "../../src/moving/server.ts";
import { plural } from "../../src/plural.ts";
import { type MovedIn, moveIn } from "../../src/services/moving-in.ts";
import { MOST_BYTES, readInput } from "../input-file.ts";
import { layFeeds, verbsOf } from "../terminal/imported-feeds.ts";
import { stateOfImport, workInterruptibly } from "../terminal/interruption.ts";
import { printResult } from "../terminal/output.ts";
import { askPassword } from "../terminal/password.ts";
import { showProgress } from "../terminal/progress.ts";
import { withUser } from "../with-app.ts";

interface Options {
  from?: string;
  type?: ServerType;
  user?: string;
  passwordStdin?: boolean;
  dryRun?: boolean;
}

export function addImportCommand(program: Command): void {
  program
    .command("import <user> [file]")
    .description("Move a user in from another server, or from a file; - reads standard input")
    .option("--from <url>", "the server to read from; nothing is changed there")
    .addOption(new Option("--type <type>", "what it speaks; asked of the server by default").choices([...TYPES]))
    .option("--user <name>", "the user's name there, if it is another one")
    .option("--password-stdin", "read the password from standard input")
    .option("--dry-run", "show what would be added, and change nothing")
    .addHelpText(
      "after",
      `
Files: OPML, AntennaPod's database (Settings, Import/Export, Database export),
gPodder's database, and podkeep's export. Subscriptions, positions and devices
are added; a position that is later here stays. Run it again at any time: it
adds only what is new.

Examples: podkeep import ann --from https://gpodder.net
          podkeep import ann AntennaPodBackup.db --dry-run`,
    )
    .action(run);
}

const TYPES = ["gpodder", "nextcloud", "openpodcast"] satisfies ServerType[];

async function run(user: string, file: string | undefined, options: Options, command: Command): Promise<void> {
  const { from, dryRun: dry_run = false } = options;
  if ((file === undefined) === (from === undefined)) {
    throw new DomainError("invalid", "Give either a file, or a server with --from");
  }
  if (from === undefined && (options.user ?? options.type ?? options.passwordStdin) !== undefined) {
    throw new DomainError("invalid", "--user, --type and --password-stdin are for a server, with --from");
  }
  // Before the password is asked.
  if (from !== undefined) await withUser(command, user, async () => {});
  let stores = false;
  const result = await workInterruptibly(
    command,
    () => stateOfImport(stores),
    async () => {
      // Before the app opens, because root then works as the data directory's owner.
      const moving = file === undefined ? await readServer(user, from ?? "", options) : await readFile(file);
      stores = !dry_run;
      return withUser(command, user, (app, actor) => moveIn(app, actor, moving, { dry_run, progress: showProgress }));
    },
  );
  await printResult(command, { dry_run, ...result }, () => describe(result, dry_run));
  if (result.feeds.failed.length > 0) process.exitCode = 1;
}

async function readServer(user: string, from: string, options: Options) {
  const { readServer: readUrl } = await import("../../src/moving/remote.ts");
  const { readAccount } = await import("../../src/moving/server.ts");
  const server = readUrl(from);
  const password = await askPassword(options.passwordStdin);
  return readAccount({ server, user: options.user ?? user, password }, options.type);
}

async function readFile(file: string) {
  const { readMovingFile } = await import("../../src/moving/file.ts");
  return readMovingFile(new Blob([await readInput(file)]), { most: MOST_BYTES });
}

function describe({ source, feeds, left, devices, actions, stored, ahead }: MovedIn, dry_run: boolean): string {
  const { added, failed } = verbsOf(dry_run);
  const places = `${plural(actions, "position or mark", "positions and marks")} of episodes read`;
  return [
    `From ${printable(source)}: ${plural(feeds.added.length, "subscription")} ${added}, ${feeds.present.length} already here, ${feeds.failed.length} ${failed}`,
    ...(left.length > 0
      ? [`Unsubscribed since an earlier run, and left so: ${left.length}. podkeep subscription add adds one again`]
      : []),
    actions > 0
      ? `${places}, ${stored} ${dry_run ? "would be " : ""}new or later than here`
      : "It has no play positions",
    ...(ahead > 0
      ? [`Later than this machine's clock, so without a time: ${ahead}. If the clock is behind, set it and repeat this`]
      : []),
    ...(devices > 0 ? [`${plural(devices, "device")} ${added}`] : []),
    ...layFeeds(feeds, dry_run),
  ].join("\n");
}
