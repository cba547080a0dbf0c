// The list of podcasts, adding one, import and export.
/** @jsxImportSource hono/jsx */
import { hostOf, readableUrl } from "../../../domain/readable-url.ts";
import { nameOf, type Podcast, type PodcastPage, type PodcastQuery, sortPodcasts } from "../../../services/podcasts.ts";
import { ActionButton, ActorName, Layout, Notice, Time } from "../layout.tsx";
import { texts } from "../texts.ts";

interface PodcastsProps {
  page: PodcastPage;
  query: PodcastQuery;
  canWrite: boolean;
  canConnect: boolean;
  /** The podcast that was just unsubscribed: its row offers to undo that. */
  undo: Podcast | null;
  /** Guid of the podcast whose button was used: the page opens there. */
  used: string | null;
  notice: string | null;
}

const hrefOf = ({ search, page, is_subscribed }: PodcastQuery) => {
  const query = new URLSearchParams();
  if (search) query.set("search", search);
  if (page > 1) query.set("page", String(page));
  const path = is_subscribed ? "/podcasts" : "/podcasts/unsubscribed";
  return query.size > 0 ? `${path}?${query}` : path;
};

export function PodcastsPage({ page, query, canWrite, canConnect, undo, used, notice }: PodcastsProps) {
  const { podcasts } = texts;
  const { search, is_subscribed } = query;
  const all = is_subscribed ? podcasts.count(page.subscribed) : podcasts.unsubscribedCount(page.unsubscribed);
  const rows = undo ? sortPodcasts([undo, ...page.podcasts]) : page.podcasts;
  return (
    <Layout title={texts.menu.podcasts} section="podcasts">
      <div class="bar">
        <h1>{search ? podcasts.found(page.matches, search) : all}</h1>
        <search>
          <form method="get" action={is_subscribed ? "/podcasts" : "/podcasts/unsubscribed"}>
            <input
              type="search"
              name="search"
              value={search}
              placeholder={podcasts.search}
              aria-label={podcasts.search}
            />
          </form>
        </search>
        {canWrite && (
          <a class="button primary" href="/podcasts/add">
            {podcasts.add}
          </a>
        )}
        <a class="button" href="/podcasts/more" aria-label={podcasts.more} title={podcasts.more}>
          …
        </a>
      </div>
      {notice && <Notice>{notice}</Notice>}
      {rows.length === 0 && <p class="muted">{emptyText(page, query)}</p>}
      {search && (
        <p>
          <a href={hrefOf({ ...query, search: "", page: 1 })}>{podcasts.all}</a>
        </p>
      )}
      {rows.length === 0 && is_subscribed && !search && canWrite && (
        <div class="bar">
          {canConnect && (
            <a class="button" href="/connect">
              {texts.apps.connect}
            </a>
          )}
          <a class="button" href="/podcasts/more">
            {podcasts.importOpml}
          </a>
        </div>
      )}
      <ul class="rows">
        {rows.map((podcast) => (
          <Row
            podcast={podcast}
            canWrite={canWrite}
            back={hrefOf(query)}
            undone={podcast === undo}
            used={podcast.guid === used}
          />
        ))}
      </ul>
      <Pages page={page} query={query} />
      <p>
        {is_subscribed ? (
          page.unsubscribed > 0 && <a href="/podcasts/unsubscribed">{podcasts.unsubscribedCount(page.unsubscribed)}</a>
        ) : (
          <a href="/podcasts">{podcasts.back}</a>
        )}
      </p>
    </Layout>
  );
}

function emptyText({ unsubscribed }: PodcastPage, { search, is_subscribed }: PodcastQuery): string {
  const { podcasts } = texts;
  if (search) return podcasts.noneFound;
  if (!is_subscribed) return podcasts.noneUnsubscribed;
  return unsubscribed > 0 ? podcasts.allUnsubscribed : podcasts.none;
}

interface RowProps {
  podcast: Podcast;
  canWrite: boolean;
  back: string;
  undone: boolean;
  used: boolean;
}

function Row({ podcast, canWrite, back, undone, used }: RowProps) {
  const { podcasts } = texts;
  const { guid, feed_url, title, is_subscribed, since, changed_by } = podcast;
  const text = readableUrl(feed_url);
  return (
    <li>
      <Tile guid={guid} name={nameOf(podcast)} />
      <details class="grow">
        <summary>
          <span class="title">{title ?? text}</span>
          <span class="muted small">
            <u>{title ? hostOf(feed_url) : podcasts.showUrl}</u> ·{" "}
            {is_subscribed ? podcasts.since : podcasts.unsubscribed}
            {!undone && (
              <>
                {" "}
                <Time ms={since} format="day" />
              </>
            )}
            {changed_by && (
              <>
                {" "}
                · <ActorName by={changed_by} />
              </>
            )}
          </span>
        </summary>
        <p>
          <code>{feed_url}</code>
        </p>
        <a class="button" href={`/history?podcast=${guid}`}>
          {texts.menu.history}
        </a>
      </details>
      {canWrite && (
        <ActionButton
          action={`/podcasts/${guid}/${is_subscribed ? "unsubscribe" : "subscribe"}`}
          autofocus={used}
          {...(back !== "/podcasts" && { back })}
        >
          {undone ? podcasts.undo : is_subscribed ? podcasts.unsubscribe : podcasts.subscribe}
        </ActionButton>
      )}
    </li>
  );
}

/** The first letter on a hue of its own, dark enough for white text. */
function Tile({ guid, name }: { guid: string; name: string }) {
  const letter = /[\p{L}\p{N}]/u.exec(name)?.[0]?.toUpperCase() ?? "•";
  return (
    <svg class="tile" aria-hidden="true">
      <rect width="40" height="40" fill={`hsl(${Number.parseInt(guid.slice(0, 4), 16) % 360} 45% 36%)`} />
      <text x="20" y="26">
        {letter}
      </text>
    </svg>
  );
}

function Pages({ page: { matches }, query }: { page: PodcastPage; query: PodcastQuery }) {
  const { podcasts } = texts;
  const pages = Math.ceil(matches / query.per_page);
  if (pages < 2) return null;
  const { page } = query;
  return (
    <nav class="pages" aria-label={podcasts.page(page, pages)}>
      {page > 1 ? <a href={hrefOf({ ...query, page: page - 1 })}>{podcasts.previous}</a> : <span />}
      <span class="muted">{podcasts.page(page, pages)}</span>
      {page < pages ? <a href={hrefOf({ ...query, page: page + 1 })}>{podcasts.next}</a> : <span />}
    </nav>
  );
}

export function AddPage({ feed_url = "", problem = null }: { feed_url?: string; problem?: string | null }) {
  const { podcasts } = texts;
  return (
    <Layout title={podcasts.addTitle} section="podcasts">
      <h1>{podcasts.addTitle}</h1>
      {problem && <Notice kind="danger">{problem}</Notice>}
      <form method="post" action="/podcasts/add">
        <div class="field">
          <label for="feed_url">{podcasts.feedUrl}</label>
          <input id="feed_url" name="feed_url" type="text" inputmode="url" value={feed_url} required autofocus />
        </div>
        <button type="submit" class="primary">
          {podcasts.add}
        </button>{" "}
        <a class="button" href="/podcasts">
          {texts.cancel}
        </a>
      </form>
    </Layout>
  );
}

export function MorePage({ canWrite, problem = null }: { canWrite: boolean; problem?: string | null }) {
  const { podcasts } = texts;
  return (
    <Layout title={podcasts.more} section="podcasts">
      <h1>{podcasts.more}</h1>
      {problem && <Notice kind="danger">{problem}</Notice>}
      {canWrite ? (
        <>
          <h2>{podcasts.importOpml}</h2>
          <form method="post" action="/podcasts/import" enctype="multipart/form-data">
            <div class="field">
              <label for="file">{podcasts.file}</label>
              <input id="file" name="file" type="file" accept=".opml,.xml,text/xml,text/x-opml" required />
            </div>
            <button type="submit" class="primary">
              {podcasts.importOpml}
            </button>
          </form>
        </>
      ) : (
        <p class="muted">{podcasts.readOnly}</p>
      )}
      <h2>{podcasts.exportOpml}</h2>
      <p>
        <a class="button" href="/podcasts/podkeep.opml">
          {podcasts.exportOpml}
        </a>
      </p>
      <p>
        <a href="/podcasts">{podcasts.back}</a>
      </p>
    </Layout>
  );
}
