// The history, the banner of mass removals, and restoring a list.
/** @jsxImportSource hono/jsx */
import type { Change, What } from "../../../domain/history.ts";
import { readableUrl } from "../../../domain/readable-url.ts";
import type { ChangedBy, MassRemoval } from "../../../services/history.ts";
import type { ChangeGroup } from "../history-groups.ts";
import { ActionButton, Layout, Notice, Time } from "../layout.tsx";
import { texts } from "../texts.ts";

interface HistoryProps {
  groups: ChangeGroup[];
  /** Where the next page starts; null on the last one. */
  next: string | null;
  /** Only changes by this app; null for all. */
  by: string | null;
  canWrite: boolean;
  notice: string | null;
}

export function HistoryPage({ groups, next, by, canWrite, notice }: HistoryProps) {
  const text = texts.history;
  const query = (more: Record<string, string>) => `/history?${new URLSearchParams({ ...(by && { by }), ...more })}`;
  return (
    <Layout title={text.title} section="history">
      <div class="bar">
        <h1>{text.title}</h1>
        {canWrite && (
          <a class="button" href="/history/restore">
            {text.restore}
          </a>
        )}
      </div>
      {notice && <Notice>{notice}</Notice>}
      {by && (
        <p>
          {text.onlyBy(by)} <a href="/history">{text.all}</a>
        </p>
      )}
      {groups.length === 0 && <p class="muted">{text.none}</p>}
      <ul class="rows">
        {groups.map((group) => (
          <Group group={group} canWrite={canWrite} />
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

/** What somebody is called: the app's label and its device. */
function actorName({ kind, label, device }: ChangedBy): string {
  const { actors } = texts.history;
  const name = label || actors[kind];
  return device && !name.includes(device) ? actors.on(name, device) : name;
}

function Group({ group, canWrite }: { group: ChangeGroup; canWrite: boolean }) {
  const { by, at, from, to, changes, removed } = group;
  const key = by.id ?? by.label;
  return (
    <li>
      <div class="grow">
        <div class="title">
          {key ? <a href={`/history?${new URLSearchParams({ by: key })}`}>{actorName(by)}</a> : actorName(by)}
        </div>
        <details>
          <summary class="muted small">
            <Time ms={at} />
            &nbsp;· {summaryOf(changes)}
          </summary>
          <ChangeList changes={changes} />
        </details>
      </div>
      {canWrite && removed > 0 && <PutBack by={by} from={from} to={to} />}
    </li>
  );
}

function PutBack({ by, from, to }: { by: ChangedBy; from: number; to: number }) {
  const { kind, id, label, device } = by;
  return (
    <ActionButton action="/history/put-back" by={JSON.stringify({ kind, id, label, device })} from={from} to={to}>
      {texts.history.putBack}
    </ActionButton>
  );
}

/** "removed 71, added 1". */
function summaryOf(changes: Change[]): string {
  const counts = new Map<What, number>();
  for (const { what } of changes) counts.set(what, (counts.get(what) ?? 0) + 1);
  return [...counts].map(([what, count]) => texts.history.what[what](count)).join(", ");
}

function ChangeList({ changes }: { changes: Change[] }) {
  return (
    <ul class="small">
      {changes.map(({ what, feed_url, title }) => (
        <li>
          {texts.history.what[what](1)}: {title ?? (feed_url ? readableUrl(feed_url) : "")}
        </li>
      ))}
    </ul>
  );
}

/** Above everything, when an app removed most of a list. */
export function Banner({ removals, canWrite }: { removals: MassRemoval[]; canWrite: boolean }) {
  const text = texts.history;
  return (
    <>
      {removals.map(({ by, from, to, ended_at, removed, of }) => (
        <div class="notice danger" role="alert">
          <p>
            {text.massRemoval(actorName(by), removed, of)} <Time ms={ended_at} />.
          </p>
          <div class="bar">
            <a class="button" href="/history">
              {text.seeWhat}
            </a>
            {canWrite && <PutBack by={by} from={from} to={to} />}
          </div>
        </div>
      ))}
    </>
  );
}

interface RestoreProps {
  as_of: string;
  exact?: boolean;
  problem?: string | null;
  /** What a restore would change, and how many podcasts the list had then. */
  preview?: { changes: Change[]; then: number } | null;
}

export function RestorePage({ as_of, exact = false, problem = null, preview = null }: RestoreProps) {
  const text = texts.history;
  return (
    <Layout title={text.restore} section="history">
      <h1>{text.restore}</h1>
      {problem && <Notice kind="danger">{problem}</Notice>}
      <form method="post" action="/history/restore">
        <div class="field">
          <label for="as_of">{text.asOf}</label>
          <input id="as_of" name="as_of" type="datetime-local" value={as_of} required />
        </div>
        <p>
          <label class="check">
            <input type="checkbox" name="exact" value="1" checked={exact} /> {text.exact}
          </label>
        </p>
        <button type="submit">{text.preview}</button>
      </form>
      {preview && (
        <>
          <h2>{text.listThen(preview.then)}</h2>
          {preview.changes.length === 0 ? (
            <p>{text.nothing}</p>
          ) : (
            <>
              <p>{summaryOf(preview.changes)}</p>
              <ChangeList changes={preview.changes} />
              <ActionButton action="/history/restore" as_of={as_of} confirmed="1" {...(exact && { exact: "1" })}>
                {text.restoreNow}
              </ActionButton>
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
