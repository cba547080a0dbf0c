// The history, and restoring a list.
/** @jsxImportSource hono/jsx */
import { useContext } from "hono/jsx";
import type { Change, ChangedBy, HistoryPosition, What } from "../../../domain/history.ts";
import { readableUrl } from "../../../domain/readable-url.ts";
import { Choice, fieldWith, Problem } from "../fields.tsx";
import { FrameContext } from "../frame.ts";
import type { ChangeGroup } from "../history-groups.ts";
import { ActionButton, ActorName, choicesOf, Layout, Notice, PutBack, Time } from "../layout.tsx";
import { texts } from "../texts.ts";

interface HistoryProps {
  groups: ChangeGroup[];
  /** Where the next page starts; null on the last one. */
  next: string | null;
  /** After which change this page starts; null on the first one. */
  after: HistoryPosition | null;
  /** Only changes by this app; null for all. */
  by: string | null;
  /** Only changes of this podcast; null for all. */
  podcast: { guid: string; name: string } | null;
  /** Who made changes lately. */
  changers: ChangedBy[];
  /** Ids of removed subscriptions that are not subscribed now. */
  missing: Set<number>;
  canWrite: boolean;
  notice: string | null;
}

export function HistoryPage(props: HistoryProps) {
  const { groups, next, after, by, podcast, changers, missing, canWrite, notice } = props;
  const text = texts.history;
  const apps = choicesOf(changers, by, useContext(FrameContext).captions);
  const which = [podcast?.name, by && apps.get(by), after && texts.before(after.changed_at)];
  const filters = { ...(by && { by }), ...(podcast && { podcast: podcast.guid }) };
  const query = (more: Record<string, string>) => `/history?${new URLSearchParams({ ...filters, ...more })}`;
  return (
    <Layout title={text.title} which={which} section="history">
      <div class="bar">
        <h1>{text.title}</h1>
        {canWrite && (
          <a class="button" href="/history/restore">
            {text.restore}
          </a>
        )}
      </div>
      {notice && <Notice>{notice}</Notice>}
      {podcast && (
        <p class="bar">
          <span>{text.onlyOf(podcast.name)}</span>
          <a href={by ? `/history?${new URLSearchParams({ by })}` : "/history"}>{text.all}</a>
        </p>
      )}
      <Filter by={by} podcast={podcast?.guid ?? null} apps={apps} />
      {groups.length === 0 && <p class="muted">{by || podcast ? text.noneFound : text.none}</p>}
      <ul class="rows">
        {groups.map((group) => (
          <Group
            group={group}
            canPutBack={canWrite && [...group.removed].some((id) => missing.has(id))}
            canWrite={canWrite}
          />
        ))}
      </ul>
      {next && (
        <p>
          <a href={query({ after: next })}>{text.older}</a>
        </p>
      )}
    </Layout>
  );
}

/** Chooses whose changes are shown. */
function Filter({ by, podcast, apps }: { by: string | null; podcast: string | null; apps: Map<string, string> }) {
  const text = texts.history;
  if (apps.size < 2 && !by) return null;
  return (
    <form method="get" action="/history" class="bar">
      {podcast && <input type="hidden" name="podcast" value={podcast} />}
      <Choice name="by" label={text.filter} all={text.everybody} options={apps} chosen={by} />
      <button type="submit">{text.show}</button>
    </form>
  );
}

function Group({ group, canPutBack, canWrite }: { group: ChangeGroup; canPutBack: boolean; canWrite: boolean }) {
  const { by, at, from, to, counts, changes, lost } = group;
  return (
    <li>
      <details class={canWrite && lost > 0 ? "grow wide" : "grow"}>
        <summary>
          <span class="title">
            <ActorName by={by} />
          </span>
          <span class="muted small">
            <Time ms={at} format="clock" /> · <u>{summaryOf(counts)}</u>
          </span>
        </summary>
        <ChangeList changes={changes} of={sum(counts.values())} />
      </details>
      {canWrite && lost > 0 && (
        <a class="button" href={previewPath(from)}>
          {texts.history.restoreBefore}
        </a>
      )}
      {lost === 0 && canPutBack && <PutBack by={by} from={from} to={to} text={texts.history.putBack} />}
    </li>
  );
}

/** The preview of a restore of the list before a change. @param before its timestamp */
const previewPath = (before: number) => `/history/restore?${new URLSearchParams({ before: String(before) })}`;

/** "removed 71, added 1". */
function summaryOf(counts: ChangeGroup["counts"]): string {
  return [...counts].map(([what, count]) => texts.history.what[what](count)).join(", ");
}

const sum = (counts: Iterable<number>) => [...counts].reduce((all, count) => all + count, 0);

/** Changes in one list. */
const MOST_LISTED = 500;

const isPlanned = (what: What): what is keyof typeof texts.history.would => what in texts.history.would;

interface ChangeListProps {
  changes: Change[];
  /** How many there are. */
  of: number;
  /** True if they are still to be made. */
  isPlan?: boolean;
}

function ChangeList({ changes, of, isPlan = false }: ChangeListProps) {
  const listed = changes.slice(0, MOST_LISTED);
  return (
    <ul class="changes small">
      {listed.map(({ what, feed_url, guid, title }) => {
        const { what: did, would } = texts.history;
        const name = title ?? (feed_url ? readableUrl(feed_url) : "");
        const text = isPlan && isPlanned(what) ? would[what](name) : did[what](name);
        return <li>{guid ? <a href={`/history?podcast=${guid}`}>{text}</a> : text}</li>;
      })}
      {of > listed.length && <li>{texts.history.more(of - listed.length)}</li>}
    </ul>
  );
}

interface RestoreProps {
  /** As the field has it, in the visitor's zone. */
  as_of?: string;
  /** Timestamp of the change before which the list was right; there is no field then. */
  before?: number | undefined;
  /** Minutes that UTC is ahead of the zone. */
  zone?: number;
  exact?: boolean;
  /** When the history begins, in Unix milliseconds. */
  since: number;
  /** Changes before which the list may have been right, the latest first. */
  moments?: ChangeGroup[];
  problem?: string | null;
  /** What a restore would change, how many podcasts the list had then, and when that was, in Unix milliseconds. */
  preview?: { changes: Change[]; count: number; at: number | undefined } | null;
}

export function RestorePage(props: RestoreProps) {
  const { as_of = "", before, zone = 0, exact = false, since, moments = [], problem, preview } = props;
  const text = texts.history;
  return (
    <Layout title={text.restore} which={[preview && text.preview]} section="history">
      <h1>{text.restore}</h1>
      <Problem>{problem}</Problem>
      {moments.length > 0 && (
        <ul class="rows">
          {moments.map(({ by, at, from, counts }) => (
            <li>
              <div class="grow">
                {text.before} <ActorName by={by} /> {summaryOf(counts)}
                <div class="muted small">
                  <Time ms={at} format="clock" />
                </div>
              </div>
              <a class="button" href={previewPath(from)}>
                {text.preview}
              </a>
            </li>
          ))}
        </ul>
      )}
      {before === undefined && (
        <>
          {moments.length > 0 && <h2>{text.anotherTime}</h2>}
          <p class="muted">
            {text.begins} <Time ms={since} format="clock" />.
          </p>
          <form method="get" action="/history/restore">
            <input type="hidden" name="zone" value={zone} />
            <div class="field">
              <label for="as_of" data-local={text.asOf}>
                {text.asOfUtc}
              </label>
              <input id="as_of" name="as_of" type="datetime-local" value={as_of} required {...fieldWith(problem)} />
            </div>
            <p>
              <label class="check">
                <input type="checkbox" name="exact" value="1" checked={exact} /> {text.exact}
              </label>
            </p>
            <button type="submit">{text.preview}</button>
          </form>
        </>
      )}
      {preview && (
        <>
          <h2>
            {before === undefined ? text.listThen(preview.count) : text.listBefore(preview.count)}
            {preview.at !== undefined && (
              <span class="muted small">
                {" "}
                · <Time ms={preview.at} format="clock" />
              </span>
            )}
          </h2>
          {preview.changes.length === 0 ? (
            <p>{exact ? text.same : text.nothing}</p>
          ) : (
            <>
              <p>{willDo(preview)}</p>
              <ActionButton
                kind="primary"
                action="/history/restore"
                {...(before === undefined ? { as_of, zone } : { before })}
                {...(exact && { exact: "1" })}
              >
                {text.restoreNow}
              </ActionButton>
              <ChangeList changes={preview.changes} of={preview.changes.length} isPlan />
            </>
          )}
        </>
      )}
      <p>
        <a href="/history">{text.back}</a>
      </p>
    </Layout>
  );
}

/** "71 podcasts come back, 1 is there already." */
function willDo({ changes, count }: { changes: Change[]; count: number }): string {
  const unsubscribed = changes.filter(({ what }) => what === "unsubscribed").length;
  const subscribed = changes.filter(({ what }) => what === "subscribed" || what === "added").length;
  return texts.history.will(subscribed, count - subscribed, unsubscribed);
}
