// Restoring an earlier list: which one, and what that would change.
/** @jsxImportSource hono/jsx */
import type { Change, What } from "../../../domain/history.ts";
import { fieldWith, Problem } from "../fields.tsx";
import type { ChangeGroup } from "../history-groups.ts";
import { ActionButton, ActorName, ButtonLink, Layout, LinkLine, Time } from "../layout.tsx";
import { texts } from "../texts.ts";
import { ChangeList, previewPath, summaryOf } from "./history.tsx";

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
  preview?: Preview | null;
}

interface Preview {
  changes: Change[];
  count: number;
  at: number | undefined;
}

const text = texts.history;

export function RestorePage(props: RestoreProps) {
  const { before, moments = [], problem, preview } = props;
  return (
    <Layout title={text.restore} which={[preview && text.preview]} section="history">
      <h1>{text.restore}</h1>
      <Problem>{problem}</Problem>
      {moments.length > 0 && <Moments moments={moments} />}
      {before === undefined && (
        <>
          {moments.length > 0 && <h2>{text.anotherTime}</h2>}
          <TimeForm {...props} />
        </>
      )}
      {preview && <Planned {...props} preview={preview} />}
      <LinkLine href="/history">{text.back}</LinkLine>
    </Layout>
  );
}

/** The changes before which the list may have been right. */
function Moments({ moments }: { moments: ChangeGroup[] }) {
  return (
    <ul class="rows">
      {moments.map(({ by, at, from, counts }) => (
        <li>
          <div class="grow">
            {text.before} <ActorName by={by} /> {summaryOf(counts)}
            <div class="muted small">
              <Time ms={at} format="clock" />
            </div>
          </div>
          <ButtonLink href={previewPath(from)} aria-label={text.named(text.preview, summaryOf(counts))}>
            {text.preview}
          </ButtonLink>
        </li>
      ))}
    </ul>
  );
}

/** Asks for a time at which the list was right. */
function TimeForm({ as_of = "", zone = 0, exact = false, since, problem }: RestoreProps) {
  return (
    <>
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
  );
}

/** What the restore would change, and the button that makes it. */
function Planned({ as_of = "", before, zone = 0, exact = false, preview }: RestoreProps & { preview: Preview }) {
  const { changes, count, at } = preview;
  return (
    <>
      <h2>
        {before === undefined ? text.listThen(count) : text.listBefore(count)}
        {at !== undefined && (
          <span class="muted small">
            {" "}
            · <Time ms={at} format="clock" />
          </span>
        )}
      </h2>
      {changes.length === 0 ? (
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
          <ChangeList changes={changes} of={changes.length} isPlan />
        </>
      )}
    </>
  );
}

/** "71 podcasts come back, 1 is there already." */
function willDo({ changes, count }: Preview): string {
  const countOf = (...kinds: What[]) => changes.filter(({ what }) => kinds.includes(what)).length;
  const subscribed = countOf("subscribed", "added");
  const [moved, merged, unsubscribed] = [countOf("moved"), countOf("merged"), countOf("unsubscribed")];
  return text.will({ subscribed, left: count - subscribed, moved, merged, unsubscribed });
}
