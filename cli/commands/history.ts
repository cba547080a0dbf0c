// `podkeep history`: what changed in a user's list, and who changed it.
import type { Command } from "commander";
import type { ChangedBy } from "../../src/domain/history.ts";
import { listHistory } from "../../src/services/subscriptions/history.ts";
import { describeBy, describeWhat, nameOf, withoutPosition } from "../terminal/changes.ts";
import { readPositive } from "../terminal/numbers.ts";
import { formatTime, layTable, print, printResult, STDERR } from "../terminal/output.ts";
import { readPast, type TypedTime } from "../terminal/times.ts";
import { withUser } from "../with-app.ts";

interface Options {
  since?: TypedTime;
  by?: string;
  limit: number;
}

const LIMIT = 100;

export function addHistoryCommand(program: Command): void {
  program
    .command("history <user>")
    .description("Show what changed in a user's subscriptions, newest first, and which app changed it")
    .option("--since <when>", "only later changes: a duration ago (12h) or a time (2027-01-31, UTC)", readPast)
    .option("--by <id>", "only changes by this token id, label or device")
    .option("--limit <count>", "how many changes to show", readPositive, LIMIT)
    .addHelpText("after", "\nFeed URLs are shown without secrets; --json has them whole.")
    .addHelpText("after", "\nExample: podkeep history ann --since 7d")
    .action(show);
}

async function show(user: string, { since, by, limit }: Options, command: Command): Promise<void> {
  const found = await withUser(command, user, (app, actor) =>
    listHistory(app, actor, {
      // One more, to know whether there are more.
      limit: limit + 1,
      named: by,
      since: since?.(app.clock.now()),
    }),
  );
  const entries = found.slice(0, limit);
  const json = entries.map(({ at, ...entry }) => ({ at: new Date(at).toISOString(), ...withoutPosition(entry) }));
  await printResult(command, json, () =>
    layTable(
      ["TIME", "WHAT", "PODCAST", "BY"],
      entries.map((entry) => [formatTime(entry.at) ?? "", describeWhat(entry), nameOf(entry), describeWho(entry.by)]),
      "No changes",
    ),
  );
  if (found.length > limit)
    await print(`There are more changes: --limit ${limit * 10} shows them, --since fewer of them`, STDERR);
}

const describeWho = (by: ChangedBy) => describeBy(by) + (by.id ? ` (${by.id})` : "");
