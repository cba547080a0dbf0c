// Moving in: storing what another server or a file has of a user. A second time, only what is new changes anything.
import { type Arrival, type EpisodeAction, normalizeAction } from "../domain/episode-actions.ts";
import { EpisodeSet, numberOf } from "../domain/episode-set.ts";
import { hashFeedUrl, takeFeedUrl } from "../domain/feed-url.ts";
import { readGuid } from "../domain/guid.ts";
import { isSubscribed } from "../domain/history.ts";
import { type Moving, type MovingDevice, UNTIMED } from "../domain/moving-in.ts";
import { hashText } from "../domain/text-keys.ts";
import { findFeeds } from "../store/feeds.ts";
import { findGuids } from "../store/guids.ts";
import { rowsOf } from "../store/rows.ts";
import { findSubscriptions } from "../store/subscriptions.ts";
import { nextTurn } from "../turns.ts";
import type { Actor } from "./actor.ts";
import type { Context } from "./context.ts";
import { isDeviceId, listDevices, MOST_DEVICES, saveDevice } from "./devices/devices.ts";
import type { MeantFeeds } from "./devices/meant-feeds.ts";
import { transactAfterMoves } from "./listening/episode-mover.ts";
import { saveEpisodeSet } from "./listening/episode-set.ts";
import { addActions, BATCH, loadNamed } from "./listening/episode-uploads.ts";
import { copyPlays, findNewPlays, keepPlays, oldestKept } from "./listening/plays.ts";
import { asPart } from "./parts.ts";
import { listAddedBy } from "./subscriptions/history.ts";
import { type ImportedFeed, type ImportResult, importFeeds, withoutUrl } from "./subscriptions/imports.ts";
import type { Rehearsal } from "./subscriptions/working-set.ts";
import { rehearse, type UserTx } from "./transact.ts";

export interface MovedIn {
  /** Where it came from. */
  source: string;
  feeds: ImportResult;
  /** Added by an earlier run, and not subscribed to any more. They stay so. */
  left: ImportedFeed[];
  /** Devices that are new here. */
  devices: number;
  /** What was read of episodes. */
  actions: number;
  /** How much of it is later than what was here. */
  stored: number;
  /** How much of it is from after today by this machine's clock, so that it gets no time. */
  ahead: number;
}

interface MovingOptions extends Rehearsal {
  /** Called with what is done, how much of it and of how much. */
  progress?: (what: "subscriptions" | "episodes", done: number, all: number) => void;
}

/**
 * Adds what a user has elsewhere. A subscription that an earlier run added stays as the user left it; what is known of
 * an episode stays unless the other is later. Each batch is one transaction, so it can end at any time and be repeated.
 */
export async function moveIn(
  context: Context,
  user: Actor,
  moving: Moving,
  { dry_run, progress = () => {} }: MovingOptions,
): Promise<MovedIn> {
  const { source } = moving;
  const { user_id, scope } = user;
  const actor: Actor = { user_id, scope, kind: "worker", id: null, label: `moved from ${source}`, device: null };
  const wanted = moving.feeds.map((feed) => ({ ...feed, feed_url: takeFeedUrl(feed.feed_url) }));
  const { present, left, fresh } = await findAdded(context, actor, wanted);
  const feeds = await importFeeds(context, actor, fresh, {
    dry_run,
    progress: (done, all) => progress("subscriptions", done, all),
  });
  feeds.present.push(...present.map(withoutUrl));
  let stored = 0;
  const next = <T>(part: Promise<T>) => asPart(part, dry_run || feeds.added.length + stored === 0);
  const devices = await next(addDevices(context, actor, moving.devices, dry_run));
  const now = context.clock.now();
  const rehearsed = new EpisodeSet([], () => 0, hashText);
  const meant: MeantFeeds = { client: null, hashes: new Map(), isExact: moving.isOwn };
  const copy: Copy = { actor, dry_run, meant, now, marksStart: moving.marksStart, rehearsed };
  const batches = inBatches(moving, now);
  const plays = pastPlays(context, moving, now);
  const all = batches.reduce((sum, { actions }) => sum + actions.length, plays.length);
  let done = 0;
  const store = async (storing: Promise<number>, count: number) => {
    stored += await next(storing);
    done += count;
    progress("episodes", done, all);
    await nextTurn();
  };
  for (const batch of batches) await store(copyActions(context, copy, batch), batch.actions.length);
  for (const chunk of inChunks(plays)) await store(storePlays(context, copy, chunk), chunk.length);
  const ahead = countAhead(moving, now);
  return { source, feeds, left: left.map(withoutUrl), devices, actions: all, stored, ahead };
}

/** Clocks may differ by zones that were mistaken, and by minutes. */
const DAY = 24 * 60 * 60 * 1000;

/** Plays are not counted: the position that each led to is as late. */
const countAhead = ({ actions }: Moving, now: number): number =>
  actions.filter(({ sent_at }) => sent_at > now + DAY).length;

interface Batch {
  actions: EpisodeAction[];
  /** Whether they are listening, and not only positions. */
  isTimed: boolean;
}

const inChunks = <T>(all: T[]): T[][] =>
  Array.from({ length: Math.ceil(all.length / BATCH) }, (_, index) => all.slice(index * BATCH, (index + 1) * BATCH));

function inBatches({ actions, untimed, plays, isOwn }: Moving, now: number): Batch[] {
  // Of one second, what arrived last there comes first, because the first stays.
  const sorted = actions.toReversed().sort((a, b) => a.sent_at - b.sent_at);
  const past = sorted.filter(({ sent_at }) => sent_at > UNTIMED && sent_at <= now);
  const others = [...untimed, ...sorted.filter(({ sent_at }) => sent_at <= UNTIMED || sent_at > now)];
  const chunks = (all: EpisodeAction[], isTimed: boolean) => inChunks(all).map((actions) => ({ actions, isTimed }));
  return [
    ...chunks(past, plays.length === 0 && !isOwn),
    ...chunks(
      others.map((action) => ({ ...action, sent_at: UNTIMED })),
      false,
    ),
  ];
}

/** What was listened to until now, and is kept; sorted, so that those of one time, which are read together, are in few parts. */
function pastPlays({ config }: Context, { plays }: Moving, now: number): Moving["plays"] {
  const oldest = oldestKept(config, now);
  return plays
    .filter(({ begun_at, sent_at }) => begun_at <= sent_at && sent_at >= oldest && sent_at <= now)
    .sort((a, b) => a.begun_at - b.begun_at);
}

type Feeds = Moving["feeds"];

/** Which feeds an earlier run added, also those that were merged, have moved there, or (`left`) are gone since. */
async function findAdded({ database }: Context, { user_id, label }: Actor, feeds: Feeds) {
  const named = feeds.map(({ feed_url, guid, ...rest }) => {
    return { ...rest, feed_url, guid: readGuid(guid), feed: hashFeedUrl(feed_url) };
  });
  return database.read(async (tx) => {
    const ids = await listAddedBy(tx, { user_id, label: label ?? "" });
    if (ids.size === 0) return { present: [], left: [], fresh: feeds };
    const guids = named.flatMap(({ guid }) => (guid === null ? [] : [{ guid }]));
    const byFeed = new Map((await findFeeds(tx, { user_id }, named)).map((row) => [row.feed, row.subscription]));
    const byGuid = new Map((await findGuids(tx, { user_id }, guids)).map((row) => [row.guid, row.subscription]));
    const rows = await findSubscriptions(tx, { user_id }, rowsOf("id", ids));
    const subscribed = new Set(rows.filter(isSubscribed).map(({ id }) => id));
    const idOf = ({ feed, guid }: (typeof named)[number]) => byFeed.get(feed) ?? byGuid.get(guid ?? "") ?? 0;
    const added = named.filter((one) => ids.has(idOf(one)));
    return {
      present: added.filter((one) => subscribed.has(idOf(one))),
      left: added.filter((one) => !subscribed.has(idOf(one))),
      fresh: named.filter((one) => !ids.has(idOf(one))),
    };
  });
}

/** Creates the devices that are not here, as many as have room: one more would end one that syncs. @returns how many */
async function addDevices(context: Context, actor: Actor, devices: MovingDevice[], dry_run: boolean): Promise<number> {
  const known = new Set((await listDevices(context, actor)).map(({ id }) => id));
  // Only ids that can be: others can be made of which a Map compares each with all.
  const named = new Map(devices.filter(({ id }) => isDeviceId(id)).map((device) => [device.id, device]));
  const fresh = [...named.values()].filter(({ id }) => !known.has(id)).slice(0, Math.max(0, MOST_DEVICES - known.size));
  for (const { id, caption, type } of dry_run ? [] : fresh) {
    await saveDevice(context, actor, { id, caption, type });
  }
  return fresh.length;
}

interface Copy {
  actor: Actor;
  dry_run: boolean;
  meant: MeantFeeds;
  now: number;
  /** As Arrival has it. */
  marksStart: boolean;
  /** What the batches of a dry run would have stored. */
  rehearsed: EpisodeSet;
}

/** @returns how many are new */
async function copyActions(context: Context, copy: Copy, { actions, isTimed }: Batch): Promise<number> {
  const { actor, dry_run, meant, rehearsed } = copy;
  const read = async (user: UserTx, set?: EpisodeSet) => {
    const arrival = arrivalOf(copy, user);
    return { arrival, ...(await addActions(user, meant, actions, arrival, set)) };
  };
  const { arrived } = dry_run
    ? await rehearse(context, actor, (user) => read(user, rehearsed))
    : await transactAfterMoves(context, actor, async (user) => {
        const { arrival, set, arrived } = await read(user);
        if (!(await saveEpisodeSet(user, set))) return null;
        if (isTimed) await keepPlays(user, null, arrived, arrival, context);
        return { arrived };
      });
  return arrived.filter(({ isStored }) => isStored).length;
}

/** @returns how many are new */
async function storePlays(context: Context, copy: Copy, plays: Moving["plays"]): Promise<number> {
  const { actor, dry_run, meant } = copy;
  const client = clientOf(actor);
  const read = async (user: UserTx) => {
    const set = new EpisodeSet([], user.nextEpisode);
    const named = await loadNamed(user, meant, plays, set);
    const recognized = named.map(({ action, podcast }) => {
      return { action, episode: set.recognize(podcast.podcast, action.guid, action.episode_url) };
    });
    // A later one may have shown that two episodes are one.
    const found = recognized.flatMap(({ action, episode }) => {
      const { begun_at, sent_at: ended_at, started, position, total } = normalizeAction(action);
      return episode ? { episode: set.present(episode).id, client, begun_at, ended_at, started, position, total } : [];
    });
    return { set, found, others: named.length - found.length };
  };
  if (dry_run) {
    return rehearse(context, actor, async (user) => {
      const { found, others } = await read(user);
      return (await findNewPlays(user, found)).length + others;
    });
  }
  return transactAfterMoves(context, actor, async (user) => {
    const { set, found } = await read(user);
    if (!(await saveEpisodeSet(user, set))) return null;
    // Episodes that turned out to be one have the plays of both now.
    const missing = await findNewPlays(user, found);
    await copyPlays(user, missing);
    return missing.length;
  });
}

/** The source stands for a client, so that the same is known again. */
const clientOf = ({ label }: Actor) => numberOf(label ?? "");

function arrivalOf({ actor, now, marksStart }: Copy, user: UserTx): Arrival {
  const clock = user.clock();
  return {
    now: Math.max(now, clock),
    clock,
    stamp: user.nextTimestamp,
    client: clientOf(actor),
    toldUntil: null,
    knewUntil: 0,
    marksStart,
    isCopied: true,
  };
}
