// `podkeep subscription`: lists, adds, removes and restores subscriptions.
import type { Command } from "commander";
import type { Change } from "../../src/domain/history.ts";
import { maskFeedUrl } from "../../src/domain/readable-url.ts";
import { plural } from "../../src/plural.ts";
import { previewRestore, restoreSubscriptions } from "../../src/services/subscriptions/earlier-lists.ts";
import { listSubscriptions, subscribe, unsubscribe } from "../../src/services/subscriptions/subscriptions.ts";
import { layChanges, withoutPosition } from "../terminal/changes.ts";
import { confirm } from "../terminal/confirm.ts";
import { readTypedFeed } from "../terminal/feed-url.ts";
import { formatTime, layTable, printResult, toDay } from "../terminal/output.ts";
import { readPast, type TypedTime } from "../terminal/times.ts";
import { withUser } from "../with-app.ts";

interface DryRun {
  dryRun?: boolean;
}

interface RestoreOptions extends DryRun {
  asOf: TypedTime;
  exact?: boolean;
  yes?: boolean;
}

const DRY_RUN = ["--dry-run", "show what would change, and change nothing"] as const;

export function addSubscriptionCommands(program: Command): void {
  const subscription = program
    .command("subscription")
    .description("List, add, remove and restore a user's subscriptions");
  subscription
    .command("list <user>")
    .description("List a user's subscriptions")
    .option("--all", "also unsubscribed and deleted ones")
    .addHelpText("after", "\nFeed URLs are shown without secrets; --json has them whole.")
    .addHelpText("after", "\nExample: podkeep subscription list ann")
    .action(list);
  subscription
    .command("add <user> <url...>")
    .description("Subscribe a user to feeds")
    .option(...DRY_RUN)
    .addHelpText("after", "\nExample: podkeep subscription add ann https://example.org/feed.xml")
    .action(add);
  subscription
    .command("remove <user> <feed...>")
    .description("Unsubscribe a user from feeds, by their feed URLs or guids")
    .option(...DRY_RUN)
    .addHelpText("after", "\nExample: podkeep subscription remove ann https://example.org/feed.xml")
    .action(remove);
  subscription
    .command("restore <user>")
    .description("Subscribe a user again to what was subscribed at a time")
    .requiredOption("--as-of <when>", "a duration ago (12h) or a time (2027-01-31, UTC)", readPast)
    .option("--exact", "also unsubscribe what was added since, and move back what has moved")
    .option(...DRY_RUN)
    .option("--yes", "don't ask before unsubscribing")
    .addHelpText("after", "\nExample: podkeep subscription restore ann --as-of 2d --dry-run")
    .action(restore);
}

async function list(user: string, { all = false }: { all?: boolean }, command: Command): Promise<void> {
  const rows = await withUser(command, user, (app, actor) => listSubscriptions(app, actor, { all }));
  const json = rows.map(({ changed_at, ...row }) => ({ ...row, changed: new Date(changed_at).toISOString() }));
  const cells = rows.map(({ title, feed_url, guid, status, changed_at }) => [
    title ?? "-",
    maskFeedUrl(feed_url),
    guid,
    ...(all ? [status] : []),
    formatTime(changed_at) ?? "",
  ]);
  const none = `No subscriptions: connect an app, or add them with podkeep import ${user} FILE`;
  const head = ["TITLE", "FEED URL", "GUID", ...(all ? ["STATUS"] : []), "CHANGED"];
  await printResult(command, json, () => layTable(head, cells, none, { shorten: toDay, spare: "GUID" }));
}

async function add(user: string, urls: string[], options: DryRun, command: Command): Promise<void> {
  const { dryRun: dry_run = false } = options;
  const feeds = urls.map((url) => readTypedFeed(url));
  const changes = await withUser(command, user, (app, actor) => subscribe(app, actor, feeds, { dry_run }));
  await printChanges(command, changes, dry_run);
}

const GUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;

async function remove(user: string, feeds: string[], options: DryRun, command: Command): Promise<void> {
  const { dryRun: dry_run = false } = options;
  const which = feeds.map((text) => (GUID.test(text) ? { guid: text.toLowerCase() } : readTypedFeed(text)));
  const changes = await withUser(command, user, (app, actor) => unsubscribe(app, actor, which, { dry_run }));
  await printChanges(command, changes, dry_run);
}

async function restore(
  user: string,
  { asOf, exact = false, dryRun: dry_run = false, yes }: RestoreOptions,
  command: Command,
): Promise<void> {
  const changes = await withUser(command, user, async (app, admin) => {
    const as_of = asOf(app.clock.now());
    const { changes: planned } = await previewRestore(app, admin, { as_of }, exact);
    if (dry_run) return planned;
    const lost = planned.filter(({ what }) => what === "unsubscribed").length;
    if (lost > 0) await confirm(`Unsubscribe ${admin.name} from ${plural(lost, "podcast")}?`, yes);
    return restoreSubscriptions(app, admin, { as_of }, exact);
  });
  await printChanges(command, changes, dry_run);
}

const printChanges = (command: Command, changes: Change[], dry_run: boolean) =>
  printResult(command, { dry_run, changes: changes.map(withoutPosition) }, () => layChanges(changes, dry_run));
