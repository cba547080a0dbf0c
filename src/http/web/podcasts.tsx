// Routes of podcasts: list, add, unsubscribe, subscribe again, import, export.
/** @jsxImportSource hono/jsx */
import type { Context, Hono } from "hono";
import { compress } from "hono/compress";
import type { Child } from "hono/jsx";
import { z } from "zod";
import type { App } from "../../app.ts";
import { readFeedUrl, reasonOfRefusal, takeTypedUrl } from "../../domain/feed-url.ts";
import { decodeOpml, OpmlError, readOpmlInTurns } from "../../domain/opml.ts";
import { positive } from "../../domain/positive.ts";
import { listKeptTokens } from "../../services/accounts/apps.ts";
import { listPlays } from "../../services/listening/play-list.ts";
import { listHistory } from "../../services/subscriptions/history.ts";
import { exportFeeds, importFeeds } from "../../services/subscriptions/imports.ts";
import { listPodcasts, nameOf, type Podcast, readAddition } from "../../services/subscriptions/podcasts.ts";
import {
  addSubscriptions,
  findSubscription,
  getSubscription,
  patchSubscription,
  subscribe,
} from "../../services/subscriptions/subscriptions.ts";
import type { HttpEnv } from "../env.ts";
import { sendOpml } from "../opml.ts";
import type { Shared } from "../shared.ts";
import { readFields, readForm, readSearch } from "./form.ts";
import { Named } from "./layout.tsx";
import { oneEach } from "./one-each.ts";
import { PodcastPage } from "./pages/podcast.tsx";
import { AddPage, MorePage, PodcastsPage } from "./pages/podcasts.tsx";
import { show } from "./render.tsx";
import { canWrite } from "./session.ts";
import { texts } from "./texts.ts";

/** So few that a page with all that it loads has 60 KB at most, compressed. */
const PER_PAGE = 500;
/** Plays and changes on the page of one podcast. */
const FEW = 5;
/** Users whose feed is looked for at a time. */
const MOST_FINDING = 20;

export function servePodcasts(http: Hono<HttpEnv>, app: App, { findFeed }: Pick<Shared, "findFeed">): void {
  // A page that is slow, or large to read, must not hold others up as often as somebody asks for it.
  const finding = oneEach(MOST_FINDING, texts.podcasts.busy, 20);
  // Compressed lengths tell about secrets (BREACH): these pages have none.
  for (const path of ["/podcasts", "/podcasts/unsubscribed"]) http.get(path, compress());
  http.get("/podcasts", (c) => showPodcasts(c, app, true));
  http.get("/podcasts/unsubscribed", (c) => showPodcasts(c, app, false));
  http.get("/podcasts/add", (c) => show(c, <AddPage findsFeeds={findFeed !== undefined} />));
  http.get("/podcasts/more", (c) => show(c, <MorePage />));

  http.post("/podcasts/add", async (c) => {
    const { feed_url } = await readForm(c, { feed_url: z.string() });
    const typed = feed_url.trim();
    const refuse = (problem: string) =>
      show(c, <AddPage feed_url={typed} problem={problem} findsFeeds={findFeed !== undefined} />, 400);
    const address = readFeedUrl(takeTypedUrl(typed));
    if ("message" in address) return refuse(texts.podcasts.badUrl(reasonOfRefusal(address)));
    const find = () => findFeed?.(address.feed_url) ?? Promise.resolve(address.feed_url);
    const found = canWrite(c) ? await finding(c.get("actor").user_id, find) : address.feed_url;
    const feed = found === null ? null : readFeedUrl(found);
    if (!feed || "message" in feed) return refuse(texts.podcasts.noFeed);
    const changes = await subscribe(app, c.get("actor"), [feed], { dry_run: true });
    const [added] = await addSubscriptions(app, c.get("actor"), [{ feed, guid: null, title: null }]);
    return c.redirect(`/podcasts?${changes.length > 0 ? "added" : "present"}=${added?.guid}`, 303);
  });

  for (const [verb, is_subscribed] of [
    ["unsubscribe", false],
    ["subscribe", true],
  ] as const) {
    http.post(`/podcasts/:guid/${verb}`, async (c) => {
      const guid = c.req.param("guid").toLowerCase();
      await patchSubscription(app, c.get("actor"), guid, { is_subscribed });
      return c.redirect(`/podcasts?${is_subscribed ? "used" : "undo"}=${guid}`, 303);
    });
  }

  // Where a refused form was, for browsers that open it again.
  http.get("/podcasts/import", (c) => c.redirect("/podcasts/more", 303));

  http.post("/podcasts/import", (c) => importFile(c, app));

  http.get("/podcasts/podkeep.opml", async (c) => {
    const feeds = await exportFeeds(app, c.get("actor"));
    c.header("Content-Disposition", 'attachment; filename="podkeep.opml"');
    return sendOpml(c, app, feeds);
  });

  http.get("/podcasts/:guid", (c) => showPodcast(c, app));
}

async function importFile(c: Context<HttpEnv>, app: App): Promise<Response> {
  const { file } = await readFields(c);
  if (!(file instanceof File) || file.size === 0) {
    return show(c, <MorePage problem={texts.podcasts.noFile} />, 400);
  }
  try {
    const feeds = await readOpmlInTurns(decodeOpml(await file.bytes()));
    const most = app.config.max_items;
    if (feeds.length > most) return show(c, <MorePage problem={texts.podcasts.tooMany(feeds.length, most)} />, 413);
    const { added, present, failed } = await importFeeds(app, c.get("actor"), feeds, { dry_run: false });
    if (failed.length === 0) return c.redirect(`/podcasts?imported=${added.length}.${present.length}`, 303);
    const notice = texts.podcasts.imported(added.length, present.length, failed.length);
    return show(c, <MorePage notice={notice} failed={failed} />);
  } catch (error) {
    if (!(error instanceof OpmlError)) throw error;
    return show(c, <MorePage problem={texts.podcasts.badFile(error.message)} />, 400);
  }
}

async function showPodcast(c: Context<HttpEnv>, app: App): Promise<Response> {
  const actor = c.get("actor");
  const { id, guid, feed_url, title, ...row } = await getSubscription(
    app,
    actor,
    c.req.param("guid")?.toLowerCase() ?? "",
  );
  const { plays } = await listPlays(app, actor, { podcast: id, limit: FEW });
  const props = {
    podcast: { guid, feed_url, title },
    id,
    is_subscribed: row.is_subscribed === 1,
    addition: await readAddition(app, actor, id),
    since: row.subscription_changed,
    plays,
    changes: await listHistory(app, actor, { guid, limit: FEW }),
  };
  return show(c, <PodcastPage {...props} />);
}

async function showPodcasts(c: Context<HttpEnv>, app: App, is_subscribed: boolean): Promise<Response> {
  const actor = c.get("actor");
  const search = readSearch(c);
  const page = positive.safeParse(c.req.query("page") ?? "1").data ?? 1;
  const undo = await findUndo(c, app);
  const { used = null, added, present } = c.req.query();
  const fresh = await find(c, app, added ?? present);
  const around = undo ?? (used === null ? fresh : await find(c, app, used));
  const query = { is_subscribed, search, page, per_page: PER_PAGE };
  const props = {
    page: await listPodcasts(app, actor, { ...query, around }),
    query,
    undo,
    used: used ?? added ?? present ?? null,
    notice: noticeOf(c, fresh),
    kept: is_subscribed && !search ? await listKeptTokens(app, actor) : null,
    now: app.clock.now(),
  };
  return show(c, <PodcastsPage {...props} />);
}

/** The podcast that was just unsubscribed, if it still is. */
async function findUndo(c: Context<HttpEnv>, app: App): Promise<Podcast | null> {
  const row = await find(c, app, c.req.query("undo"));
  return row?.is_subscribed === 0 ? row : null;
}

async function find(c: Context<HttpEnv>, app: App, guid: string | undefined) {
  if (!guid) return null;
  return findSubscription(app, c.get("actor"), guid.toLowerCase());
}

/** What the page says first. @param fresh the podcast that was just added, or was there already */
function noticeOf(c: Context<HttpEnv>, fresh: Awaited<ReturnType<typeof find>>): Child {
  const { podcasts } = texts;
  if (fresh?.is_subscribed === 1) {
    const text = podcasts[c.req.query("added") ? "subscribedTo" : "isPresent"];
    return <Named text={text} name={nameOf(fresh)} />;
  }
  if (c.req.query("kept")) return texts.history.keepDone;
  const [, added, present] = /^(\d+)\.(\d+)$/.exec(c.req.query("imported") ?? "") ?? [];
  return added === undefined ? null : podcasts.imported(Number(added), Number(present), 0);
}
