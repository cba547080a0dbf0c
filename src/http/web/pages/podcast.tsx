// One podcast: its feed, what was played, what changed.
/** @jsxImportSource hono/jsx */
import type { ChangedBy } from "../../../domain/history.ts";
import { hostOf } from "../../../domain/readable-url.ts";
import type { PlayEntry } from "../../../services/listening/play-list.ts";
import type { HistoryEntry } from "../../../services/subscriptions/history.ts";
import { nameOf, type Podcast } from "../../../services/subscriptions/podcasts.ts";
import { useFrame } from "../frame.ts";
import { ActionButton, ActorName, Copyable, Layout, LinkLine, Time } from "../layout.tsx";
import { texts } from "../texts.ts";
import { historyPath, ListeningStyle, PlayRow } from "./listening.tsx";

interface PodcastProps {
  podcast: Podcast;
  id: number;
  is_subscribed: boolean;
  /** When and by whom it was added; null if the history no longer has that. */
  addition: { at: number; by: ChangedBy } | null;
  /** When it was subscribed or unsubscribed last, in Unix milliseconds. */
  since: number;
  /** The latest ones. */
  plays: PlayEntry[];
  changes: HistoryEntry[];
}

export function PodcastPage(props: PodcastProps) {
  const { podcast, id, is_subscribed, addition, since, plays, changes } = props;
  const { guid, feed_url } = podcast;
  const text = texts.podcasts;
  return (
    <Layout title={nameOf(podcast)} section="podcasts">
      <ListeningStyle />
      <LinkLine href={is_subscribed ? "/podcasts" : "/podcasts/unsubscribed"}>{text.back}</LinkLine>
      <h1>
        <bdi>{nameOf(podcast)}</bdi>
      </h1>
      <p class="muted">
        {hostOf(feed_url)} ·{" "}
        {addition ? (
          <>
            {text.added} <Time ms={addition.at} format="day" />, <ActorName by={addition.by} />
          </>
        ) : (
          <>
            {is_subscribed ? text.since : text.unsubscribed} <Time ms={since} format="day" />
          </>
        )}
      </p>
      {useFrame().canWrite && (
        <ActionButton action={`/podcasts/${guid}/${is_subscribed ? "unsubscribe" : "subscribe"}`}>
          {is_subscribed ? text.unsubscribe : text.subscribe}
        </ActionButton>
      )}
      <h2>{text.feedUrl}</h2>
      <p>
        <Copyable text={feed_url} />
      </p>
      <h2>{text.plays}</h2>
      {plays.length === 0 && <p class="muted">{text.noPlays}</p>}
      <ul class="rows links">
        {plays.map((play) => (
          <PlayRow play={play} />
        ))}
      </ul>
      {plays.length > 0 && <LinkLine href={historyPath({ podcast: id })}>{text.allPlays}</LinkLine>}
      <h2>{texts.menu.history}</h2>
      <ul class="changes small">
        {changes.map(({ what, by, at }) => (
          <li>
            <Time ms={at} format="clock" /> · {texts.history.what[what](texts.podcasts.it)} · <ActorName by={by} />
          </li>
        ))}
      </ul>
      <LinkLine href={`/history?podcast=${guid}`}>{text.allChanges}</LinkLine>
    </Layout>
  );
}
