// The list of podcasts, adding one, import and export.
/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import type { ImportResult } from "../../../services/subscriptions/imports.ts";
import {
  type Podcast,
  type PodcastPage,
  type PodcastQuery,
  sortPodcasts,
} from "../../../services/subscriptions/podcasts.ts";
import { Field, fieldWith, Problem, Submit, UserForm, useTyped, VERBATIM } from "../fields.tsx";
import { useFrame } from "../frame.ts";
import { ButtonLink, Layout, LinkLine, Notice } from "../layout.tsx";
import { texts } from "../texts.ts";
import { ImportedFeeds } from "./imported-feeds.tsx";
import { huesOf, Row, UndoRow } from "./podcast-rows.tsx";
import { SyncStatus } from "./sync-status.tsx";

interface PodcastsProps {
  page: PodcastPage;
  query: PodcastQuery;
  /** The podcast that was just unsubscribed: its row offers to undo that. */
  undo: Podcast | null;
  /** Guid of the podcast that was just added or subscribed again: the page opens there. */
  used: string | null;
  notice: Child;
  /** Tokens that were not revoked; null on a page that doesn't say which devices sync. */
  kept: ReadonlySet<string> | null;
  /** Unix milliseconds. */
  now: number;
}

const hrefOf = ({ search, page, is_subscribed }: PodcastQuery) => {
  const query = new URLSearchParams();
  if (search) query.set("search", search);
  if (page > 1) query.set("page", String(page));
  const path = is_subscribed ? "/podcasts" : "/podcasts/unsubscribed";
  return query.size > 0 ? `${path}?${query}` : path;
};

export function PodcastsPage(props: PodcastsProps) {
  const { page, query, undo, used, notice, kept, now } = props;
  const { canWrite } = useFrame();
  const { podcasts } = texts;
  const { search, is_subscribed } = query;
  const all = is_subscribed ? podcasts.count(page.subscribed) : podcasts.unsubscribedCount(page.unsubscribed);
  const rows = undo ? sortPodcasts([undo, ...page.podcasts]) : page.podcasts;
  const isNew = is_subscribed && page.subscribed + page.unsubscribed === 0;
  const found = is_subscribed ? podcasts.found : podcasts.foundUnsubscribed;
  const heading = isNew ? texts.menu.podcasts : search ? found(page.matches, search) : all;
  const title = is_subscribed && !search ? texts.menu.podcasts : heading;
  return (
    <Layout title={title} which={[page.number > 1 && pageOf(page, query)]} section="podcasts">
      <div class="bar">
        <h1>{heading}</h1>
        {!isNew && <Search page={page} query={query} />}
        {canWrite && (
          <a class={isNew ? "button" : "button primary"} href="/podcasts/add">
            {podcasts.add}
          </a>
        )}
        <ButtonLink href="/podcasts/more" aria-label={podcasts.more} title={podcasts.more}>
          …
        </ButtonLink>
      </div>
      <Notice focused={used === null}>{notice}</Notice>
      {kept && <SyncStatus kept={kept} now={now} />}
      {rows.length === 0 && <p class="muted">{emptyText(page, query)}</p>}
      {search && <LinkLine href={hrefOf({ ...query, search: "", page: 1 })}>{podcasts.all}</LinkLine>}
      {isNew && canWrite && <FirstSteps />}
      <ul class="rows links">
        {huesOf(rows).map(({ podcast, hue }) =>
          podcast === undo ? (
            <UndoRow podcast={podcast} hue={hue} />
          ) : (
            <Row podcast={podcast} hue={hue} used={podcast.guid === used} described={notice !== null} />
          ),
        )}
      </ul>
      <Pages page={page} query={query} />
      {is_subscribed && page.unsubscribed > 0 && (
        <LinkLine href="/podcasts/unsubscribed">{podcasts.unsubscribedCount(page.unsubscribed)}</LinkLine>
      )}
      {!is_subscribed && <LinkLine href="/podcasts">{podcasts.back}</LinkLine>}
    </Layout>
  );
}

/** How podcasts come into an empty list. */
function FirstSteps() {
  return (
    <div class="bar">
      {useFrame().byPassword && (
        <ButtonLink kind="primary" href="/connect">
          {texts.apps.connect}
        </ButtonLink>
      )}
      <ButtonLink href="/podcasts/more">{texts.podcasts.importOpml}</ButtonLink>
    </div>
  );
}

/**
 * Asks the server; while somebody types, the script filters a list that is whole. After the Back button the field says how a
 * list is filtered.
 */
function Search({
  page: { matches },
  query: { search, is_subscribed, per_page },
}: Pick<PodcastsProps, "page" | "query">) {
  const { podcasts } = texts;
  const isWhole = !search && matches <= per_page;
  return (
    <search>
      <form method="get" action={is_subscribed ? "/podcasts" : "/podcasts/unsubscribed"}>
        <input
          type="search"
          name="search"
          value={search}
          placeholder={podcasts.search}
          aria-label={podcasts.search}
          {...(isWhole ? { "data-filter": podcasts.shown(matches) } : { autocomplete: "off" })}
        />
        {isWhole && <output class="muted small" />}
      </form>
    </search>
  );
}

function emptyText({ unsubscribed }: PodcastPage, { search, is_subscribed }: PodcastQuery): string {
  const { podcasts } = texts;
  if (search) return podcasts.noneFound;
  if (!is_subscribed) return podcasts.noneUnsubscribed;
  return unsubscribed > 0 ? podcasts.allUnsubscribed : podcasts.none;
}

/** "Page 2 of 3" */
const pageOf = ({ matches, number }: PodcastPage, { per_page }: PodcastQuery) =>
  texts.podcasts.page(number, Math.ceil(matches / per_page));

function Pages({ page: list, query }: { page: PodcastPage; query: PodcastQuery }) {
  const { podcasts } = texts;
  const pages = Math.ceil(list.matches / query.per_page);
  if (pages < 2) return null;
  const { number } = list;
  return (
    <nav class="pages" aria-label={pageOf(list, query)}>
      {number > 1 ? <a href={hrefOf({ ...query, page: number - 1 })}>{podcasts.previous}</a> : <span />}
      <span class="muted">{pageOf(list, query)}</span>
      {number < pages ? <a href={hrefOf({ ...query, page: number + 1 })}>{podcasts.next}</a> : <span />}
    </nav>
  );
}

interface AddProps {
  feed_url?: string;
  problem?: string | null;
  /** Whether the server finds the feed of a podcast's web page. */
  findsFeeds: boolean;
}

export function AddPage({ feed_url = "", problem = null, findsFeeds }: AddProps) {
  const { podcasts } = texts;
  return (
    <Layout title={podcasts.addTitle} section="podcasts">
      <h1>{podcasts.addTitle}</h1>
      <Problem>{problem}</Problem>
      {useFrame().canWrite ? (
        <UserForm action="/podcasts/add">
          <Field
            name="feed_url"
            label={podcasts.feedUrl}
            type="text"
            inputmode="url"
            {...VERBATIM}
            value={useTyped("feed_url", feed_url)}
            required
            {...fieldWith(problem, "feed_url-hint")}
            autofocus
          >
            <p class="small muted" id="feed_url-hint">
              {findsFeeds ? podcasts.takesPages : podcasts.takesFeeds}
            </p>
          </Field>
          <Submit>{podcasts.add}</Submit> <ButtonLink href="/podcasts">{texts.cancel}</ButtonLink>
        </UserForm>
      ) : (
        <p class="muted">{podcasts.readOnly}</p>
      )}
    </Layout>
  );
}

interface MoreProps {
  problem?: string | null;
  notice?: string | null;
  /** What an import could not add. */
  failed?: ImportResult["failed"];
}

export function MorePage({ problem = null, notice = null, failed = [] }: MoreProps) {
  const { podcasts } = texts;
  return (
    <Layout title={podcasts.more} section="podcasts">
      <h1>{podcasts.more}</h1>
      <Problem>{problem}</Problem>
      <Notice>{notice}</Notice>
      {failed.length > 0 && <ImportedFeeds feeds={failed} />}
      {useFrame().canWrite ? (
        <>
          <h2>{podcasts.importOpml}</h2>
          <UserForm action="/podcasts/import" enctype="multipart/form-data">
            <Field name="file" label={podcasts.file} type="file" required {...fieldWith(problem)} />
            <Submit>{podcasts.importOpml}</Submit>
          </UserForm>
          <LinkLine href="/account/move-in">{podcasts.moveIn}</LinkLine>
        </>
      ) : (
        <p class="muted">{podcasts.readOnly}</p>
      )}
      <h2>{podcasts.exportOpml}</h2>
      <p>
        <ButtonLink href="/podcasts/podkeep.opml">{podcasts.exportOpml}</ButtonLink>
      </p>
      <LinkLine href="/podcasts">{podcasts.back}</LinkLine>
    </Layout>
  );
}
