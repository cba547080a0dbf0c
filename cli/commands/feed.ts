// `podkeep feed`: what lookups know of a user's feeds, and a lookup now.
import type { Command } from "commander";
import { maskFeedUrl } from "../../src/domain/readable-url.ts";
import { type Feed, listFeeds } from "../../src/services/subscriptions/feed-lookups.ts";
import { nameOf } from "../terminal/changes.ts";
import { readTypedFeed } from "../terminal/feed-url.ts";
import { formatTime, isTerminal, layRecord, layTable, printResult, STDOUT, toDay } from "../terminal/output.ts";
import { withUser } from "../with-app.ts";

export function addFeedCommands(program: Command): void {
  const feed = program.command("feed").description("Show what was read from a user's feeds");
  feed
    .command("list <user>")
    .description("List a user's feeds: when they were looked up, and what went wrong")
    .option("--failing", "only feeds whose last lookup failed")
    .addHelpText("after", "\nFeed URLs are shown without secrets; --json has them whole.")
    .addHelpText("after", "\nExample: podkeep feed list ann --failing")
    .action(list);
  feed
    .command("lookup <user> <url>")
    .description("Look a feed up now, even while PODKEEP_FEED_LOOKUP is off")
    .addHelpText("after", "\nExample: podkeep feed lookup ann https://example.org/feed.xml")
    .action(lookUp);
}

const withTimes = (feed: Feed) => ({
  ...feed,
  checked_at: formatTime(feed.checked_at),
  next_at: formatTime(feed.next_at),
  failing_since: formatTime(feed.failing_since),
  moved_since: formatTime(feed.moved_since),
});

const reasonOf = ({ reason, moved_to }: Feed) => reason ?? (moved_to === null ? "" : `to ${maskFeedUrl(moved_to)}`);

const OFF = "Feeds are not looked up: PODKEEP_FEED_LOOKUP is off. Set it to on, and restart the server.";

async function list(user: string, { failing }: { failing?: boolean }, command: Command): Promise<void> {
  const { all, off } = await withUser(command, user, async (app, actor) => ({
    all: await listFeeds(app, actor),
    off: app.config.feed_lookup === "off",
  }));
  const feeds = all.filter(({ state }) => !failing || state === "failing");
  await printResult(
    command,
    feeds.map(withTimes),
    () =>
      layTable(
        ["PODCAST", "STATE", "CHECKED", "NEXT", "REASON"],
        feeds.map((feed) => [
          nameOf(feed),
          off && feed.state === "waiting" ? "off" : feed.state,
          formatTime(feed.checked_at) ?? "-",
          formatTime(feed.next_at) ?? "-",
          reasonOf(feed),
        ]),
        "No feeds",
        { shorten: toDay },
      ) + (off && isTerminal(STDOUT) && feeds.some(({ state }) => state === "waiting") ? `\n\n${OFF}` : ""),
  );
}

async function lookUp(user: string, url: string, _options: unknown, command: Command): Promise<void> {
  const { lookUpNow } = await import("../../src/lookup/lookup-now.ts");
  const feed = await withUser(command, user, async (app, actor) => lookUpNow(app, actor, readTypedFeed(url)));
  const masked = { feed_url: maskFeedUrl(feed.feed_url), moved_to: feed.moved_to && maskFeedUrl(feed.moved_to) };
  await printResult(command, withTimes(feed), () => layRecord({ ...withTimes(feed), ...masked }));
  if (feed.state === "failing") process.exitCode = 1;
}
