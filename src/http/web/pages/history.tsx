// The history: who changed what.
/** @jsxImportSource hono/jsx */
import { appOf, type Change, type ChangedBy, type HistoryPosition, type What } from "../../../domain/history.ts";
import { readableUrl } from "../../../domain/readable-url.ts";
import { Choice } from "../fields.tsx";
import { useFrame } from "../frame.ts";
import type { ChangeGroup } from "../history-groups.ts";
import { ActorName, ButtonLink, choicesOf, Layout, LinkLine, Named, Notice, PutBack, Time } from "../layout.tsx";
import { texts } from "../texts.ts";

interface HistoryProps {
  groups: ChangeGroup[];
  /** Where the next page starts; null on the last one. */
  next: string | null;
  /** After which change this page starts; undefined on the first one. */
  after: HistoryPosition | undefined;
  /** Only changes by this app; undefined for all. */
  by: string | undefined;
  /** Only changes of this podcast; undefined for all. */
  podcast: { guid: string; name: string } | undefined;
  /** Who made changes lately. */
  changers: ChangedBy[];
  /** Which app removed each subscription last that is not subscribed now, by its id. */
  removers: Map<number, string>;
  notice: string | null;
}

export function HistoryPage(props: HistoryProps) {
  const { groups, next, after, by, podcast, changers, removers, notice } = props;
  const { devices, canWrite } = useFrame();
  const text = texts.history;
  const apps = choicesOf(changers, by, devices);
  const which = [podcast?.name, by && apps.get(by), after && texts.before(after.changed_at)];
  const filters = { ...(by && { by }), ...(podcast && { podcast: podcast.guid }) };
  const query = (more: Record<string, string>) => `/history?${new URLSearchParams({ ...filters, ...more })}`;
  return (
    <Layout title={text.title} which={which} section="history">
      <div class="bar">
        <h1>{text.title}</h1>
        {canWrite && <ButtonLink href="/history/restore">{text.restore}</ButtonLink>}
      </div>
      <Notice>{notice}</Notice>
      {podcast && (
        <p class="bar">
          <span>
            <Named text={text.onlyOf} name={podcast.name} />
          </span>
          <a href={by ? `/history?${new URLSearchParams({ by })}` : "/history"}>{text.all}</a>
        </p>
      )}
      <Filter by={by} podcast={podcast} apps={apps} />
      {groups.length === 0 && <p class="muted">{by || podcast ? text.noneFound : text.none}</p>}
      <ul class="rows">
        {groups.map((group) => (
          <Group
            group={group}
            podcast={podcast?.guid}
            isMissing={[...group.removed].some((id) => removers.get(id) === appOf(group.by))}
          />
        ))}
      </ul>
      {next && <LinkLine href={query({ after: next })}>{text.older}</LinkLine>}
    </Layout>
  );
}

/** Chooses whose changes are shown. */
function Filter({ by, podcast, apps }: Pick<HistoryProps, "by" | "podcast"> & { apps: Map<string, string> }) {
  const text = texts.history;
  if (apps.size < 2 && !by) return null;
  return (
    <form method="get" action="/history" class="bar">
      {podcast && <input type="hidden" name="podcast" value={podcast.guid} />}
      <Choice name="by" label={text.filter} all={text.everybody} options={apps} chosen={by} />
      <button type="submit">{text.show}</button>
    </form>
  );
}

interface GroupProps {
  group: ChangeGroup;
  /** The guid of the podcast whose changes alone are shown; undefined for all. */
  podcast: string | undefined;
  /** Whether a podcast can be put back: it is not subscribed, and no other app has removed it since. */
  isMissing: boolean;
}

function Group({ group, podcast, isMissing }: GroupProps) {
  const { by, at, from, to, counts, changes, lost } = group;
  const { canWrite } = useFrame();
  const text = texts.history;
  const summary = summaryOf(counts);
  return (
    <li>
      <details class={canWrite && lost > 0 ? "grow wide" : "grow"}>
        <summary>
          <span class="title">
            <ActorName by={by} />
          </span>
          <span class="muted small">
            <Time ms={at} format="clock" /> · <u>{summary}</u>
          </span>
        </summary>
        <ChangeList changes={changes} of={sum(counts.values())} />
      </details>
      {canWrite && lost > 0 && (
        <ButtonLink href={previewPath(from)} aria-label={text.named(text.restoreBefore, summary)}>
          {text.restoreBefore}
        </ButtonLink>
      )}
      {canWrite && lost === 0 && isMissing && (
        <PutBack
          by={by}
          from={from}
          to={to}
          {...(podcast !== undefined && { podcast })}
          text={text.putBack}
          label={text.named(text.putBack, summary)}
        />
      )}
    </li>
  );
}

/** The preview of a restore of the list before a change. @param before its timestamp */
export const previewPath = (before: number) => `/history/restore?${new URLSearchParams({ before: String(before) })}`;

/** "removed 71, added 1". */
export function summaryOf(counts: ChangeGroup["counts"]): string {
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

export function ChangeList({ changes, of, isPlan = false }: ChangeListProps) {
  const listed = changes.slice(0, MOST_LISTED);
  return (
    <ul class="changes small">
      {listed.map(({ what, feed_url, guid, title }) => {
        const { what: did, would } = texts.history;
        const name = title ?? (feed_url ? readableUrl(feed_url) : "");
        const text = <Named text={isPlan && isPlanned(what) ? would[what] : did[what]} name={name} />;
        return <li>{guid ? <a href={`/history?podcast=${guid}`}>{text}</a> : text}</li>;
      })}
      {of > listed.length && <li>{texts.history.more(of - listed.length)}</li>}
    </ul>
  );
}
