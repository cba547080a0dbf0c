// `podkeep play`: what a user listened to, and setting a position.
import { type Command, InvalidArgumentError, Option } from "commander";
import { writeCsv, writeJson } from "../../src/domain/play-files.ts";
import { clockOf, parseClock } from "../../src/domain/play-time.ts";
import { DomainError } from "../../src/errors.ts";
import { episodeName, findEpisodeId, readEpisode } from "../../src/services/listening/listening.ts";
import { type PlayEntry, streamPlays, streamWritten } from "../../src/services/listening/play-list.ts";
import { setPosition } from "../../src/services/listening/positions.ts";
import { findPodcastId } from "../../src/services/subscriptions/podcasts.ts";
import { describeBy, nameOf } from "../terminal/changes.ts";
import { readTypedFeed } from "../terminal/feed-url.ts";
import { readPositive } from "../terminal/numbers.ts";
import {
  fileForOutput,
  formatTime,
  layTable,
  print,
  printResult,
  STDERR,
  wantsJson,
  write,
} from "../terminal/output.ts";
import { readPast, type TypedTime } from "../terminal/times.ts";
import { withUser } from "../with-app.ts";

interface ListOptions {
  podcast?: string;
  since?: TypedTime;
  csv?: boolean;
  limit: number;
}

interface SetOptions {
  position?: number;
  finished?: boolean;
}

const LIMIT = 100;

export function addPlayCommands(program: Command): void {
  const play = program.command("play").description("List what a user listened to, and set positions");
  play
    .command("list <user>")
    .description("List what a user listened to, the latest first")
    .option("--podcast <url>", "only plays of the podcast with this feed URL")
    .option("--since <when>", "only later plays: a duration ago (30d) or a time (2027-01-31, UTC)", readPast)
    .option("--csv", "print all plays as CSV")
    .option("--limit <count>", "how many plays the table has; --json and --csv have all", readPositive, LIMIT)
    .addHelpText("after", "\nExample: podkeep play list ann --since 30d")
    .action(list);
  play
    .command("set <user> <episode>")
    .description("Set the position of an episode for every app; each app gets it at its next sync")
    .addOption(new Option("--position <time>", "the position, such as 20:00 or 1:02:03").argParser(readPosition))
    .addOption(new Option("--finished", "mark the episode as finished").conflicts("position"))
    .addHelpText("after", "\n<episode> is an id that podkeep play list prints, or the episode's URL or guid.")
    .addHelpText("after", "\nExample: podkeep play set ann 12 --position 20:00")
    .action(set);
}

function readPosition(text: string): number {
  const seconds = parseClock(text);
  if (seconds === null) throw new InvalidArgumentError("Examples: 20:00, 1:02:03, 90 (seconds).");
  return seconds;
}

async function list(user: string, { podcast, since, csv, limit }: ListOptions, command: Command): Promise<void> {
  if (csv && wantsJson(command)) throw new DomainError("invalid", "Give --csv or --json, not both");
  await withUser(command, user, async (app, actor) => {
    const query = {
      podcast:
        podcast === undefined ? undefined : await findPodcastId(app, actor, readTypedFeed(podcast, "--podcast").hash),
      since: since?.(app.clock.now()),
    };
    if (csv || wantsJson(command)) {
      const texts = (csv ? writeCsv : writeJson)(streamWritten(app, actor, query));
      for await (const text of texts) if (!(await write(fileForOutput(text)))) return;
      return;
    }
    const plays: PlayEntry[] = [];
    for await (const part of streamPlays(app, actor, query)) {
      plays.push(...part.slice(0, limit + 1 - plays.length));
      if (plays.length > limit) break;
    }
    await print(
      layTable(
        ["TIME", "PODCAST", "ID", "EPISODE", "FROM", "TO", "OF", "APP"],
        plays.slice(0, limit).map(cellsOf),
        "No plays: apps send them when they sync",
      ),
    );
    if (plays.length > limit) await print(`There are more plays: --limit ${limit * 10} shows them`, STDERR);
  });
}

const timeOf = (seconds: number | null) => (seconds === null ? "-" : clockOf(seconds));

const cellsOf = (play: PlayEntry) => [
  formatTime(play.begun_at) ?? "",
  nameOf(play),
  String(play.episode),
  episodeName(play),
  timeOf(play.started),
  timeOf(play.position),
  timeOf(play.total),
  describeBy(play.by),
];

async function set(user: string, name: string, { position, finished }: SetOptions, command: Command): Promise<void> {
  if (position === undefined && !finished) {
    throw new DomainError("invalid", "Give a position (--position 20:00), or --finished");
  }
  const episode = await withUser(command, user, async (app, actor) => {
    const id = await findEpisodeId(app, actor, name);
    await setPosition(app, actor, { episode: id, position: position ?? null });
    return readEpisode(app, actor, id);
  });
  const result = { episode: episode.episode, position: episode.position, total: episode.total };
  await printResult(
    command,
    result,
    () => `${episodeName(episode)} is at ${timeOf(episode.position)}; each app gets it at its next sync`,
  );
}
