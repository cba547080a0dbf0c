// What is begun, and the history of listening.
/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import type { ChangedBy } from "../../../domain/history.ts";
import { clockOf } from "../../../domain/play-time.ts";
import {
  type BegunEpisode,
  type EpisodePlace,
  episodeName,
  lengthOf,
  type NamedEpisode,
} from "../../../services/listening/listening.ts";
import type { PlayEntry, PlayPosition } from "../../../services/listening/play-list.ts";
import { nameOf } from "../../../services/subscriptions/podcasts.ts";
import { assets } from "../assets.ts";
import { useFrame } from "../frame.ts";
import { ActorName, ButtonLink, choicesOf, Layout, LinkLine, Time, type Which } from "../layout.tsx";
import { texts } from "../texts.ts";
import { Filter, type Filters, podcastsOf } from "./listening-filter.tsx";

const text = texts.listening;

const TABS = { "": text.continue, "/history": text.history, "/year": text.year };

interface ListeningProps {
  tab: keyof typeof TABS;
  /** The tab's, if it is missing. */
  title?: string;
  which?: Which;
  children?: Child;
}

/** A page about listening, with links to the others. */
export function ListeningLayout({ tab, title = TABS[tab], which = [], children }: ListeningProps) {
  return (
    <Layout title={title} which={[text.title, ...which]} section="listening">
      <ListeningStyle />
      <h1>{text.title}</h1>
      <div class="bar tabs">
        {Object.entries(TABS).map(([path, name]) => (
          <ButtonLink href={`/listening${path}`} aria-current={path === tab ? "page" : undefined}>
            {name}
          </ButtonLink>
        ))}
      </div>
      {children}
    </Layout>
  );
}

export const ListeningStyle = () => <link rel="stylesheet" href={assets.listening.path} />;

/** A bar whose number is beside it as text. @param part from 0 to 1 */
export function Bar({ part }: { part: number }) {
  return (
    <svg class="meter" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
      <rect width="100" height="4" class="track" />
      <rect width={Math.round(Math.max(0, Math.min(1, part)) * 1000) / 10} height="4" />
    </svg>
  );
}

export const clockIfAny = (seconds: number | null) => (seconds === null ? null : clockOf(seconds));

export function Progress({ of }: { of: Pick<EpisodePlace, "position" | "total" | "duration"> }) {
  const length = lengthOf(of);
  return of.position === null || length === null ? null : <Bar part={of.position / length} />;
}

/** A row that leads to an episode, with its name. */
function EpisodeRow({ episode, children }: { episode: NamedEpisode; children: Child }) {
  return (
    <li>
      <a href={`/listening/episodes/${episode.episode}`}>
        <span class="grow">
          <bdi>{episodeName(episode)}</bdi>
          {children}
        </span>
      </a>
    </li>
  );
}

/** A play, with its podcast if `podcast` is set. */
export function PlayRow({ play, podcast }: { play: PlayEntry; podcast?: true }) {
  return (
    <EpisodeRow episode={play}>
      {podcast && (
        <small>
          <bdi>{nameOf(play)}</bdi>
        </small>
      )}
      <small>
        <Stretch play={play} /> · <ActorName by={play.by} /> · <Time ms={play.begun_at} format="clock" />
      </small>
    </EpisodeRow>
  );
}

/** @param episodes one more than `most` if there are more */
export function ContinuePage({ episodes, most }: { episodes: BegunEpisode[]; most: number }) {
  return (
    <ListeningLayout tab="">
      {episodes.length === 0 && <p class="muted">{text.none}</p>}
      <ul class="rows links">
        {episodes.slice(0, most).map((episode) => (
          <EpisodeRow episode={episode}>
            <small>
              <bdi>{nameOf(episode)}</bdi>
            </small>
            <span class="small">{text.of(clockOf(episode.position), clockIfAny(lengthOf(episode)))}</span>
            <Progress of={episode} />
            <small>
              <ActorName by={episode.by} /> · <Time ms={episode.at} />
            </small>
          </EpisodeRow>
        ))}
      </ul>
      {episodes.length > most && <p class="muted">{text.latest(most)}</p>}
      {episodes.some((one) => one.episode_title === null) && <p class="muted small">{text.titles}</p>}
    </ListeningLayout>
  );
}

/** What a play was: from where to where, or that the position was set. */
export function Stretch({ play: { started, position, total } }: { play: PlayEntry }) {
  if (position === null) return <>{text.markedFinished}</>;
  if (started !== null && started < position) return <>{text.fromTo(clockOf(started), clockOf(position))}</>;
  return <>{position === total ? text.markedFinished : text.setTo(clockOf(position))}</>;
}

interface HistoryProps {
  days: { day: string; seconds: number | undefined; plays: PlayEntry[] }[];
  filters: Filters;
  /** What the podcast of the filter is called. */
  podcastName: string | null;
  players: ChangedBy[];
  /** Where the next page starts; null at the end. */
  next: string | null;
  /** After which play this page starts. */
  after: PlayPosition | undefined;
  /** How far back was searched, if the page is not full. */
  searchedTo: number | null;
  zone: string | null;
}

/** A link to the history. */
export function historyPath({ podcast, by, search }: Partial<Filters>, more: Record<string, string> = {}): string {
  const query = { ...(podcast && { podcast: String(podcast) }), ...(by && { by }), ...(search && { search }), ...more };
  const parameters = new URLSearchParams(query).toString();
  return parameters ? `/listening/history?${parameters}` : "/listening/history";
}

const DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeZone: "UTC" });

export function PlayHistoryPage(props: HistoryProps) {
  const { days, filters, podcastName, players, next, after, searchedTo, zone } = props;
  const isFiltered = Boolean(filters.podcast || filters.by || filters.search);
  const apps = choicesOf(players, filters.by, useFrame().devices);
  const podcasts = podcastsOf(days.flatMap(({ plays }) => plays));
  const key = String(filters.podcast);
  if (filters.podcast) podcasts.set(key, podcastName ?? podcasts.get(key) ?? text.thisPodcast);
  const which = [filters.podcast && podcasts.get(key), filters.by && apps.get(filters.by), filters.search];
  const hasPlays = days.length > 0 || isFiltered || next !== null;
  return (
    <ListeningLayout tab="/history" which={[...which, after && texts.before(after.begun_at)]}>
      {hasPlays && <Filter filters={filters} podcasts={podcasts} apps={apps} />}
      {days.length === 0 && <p class="muted">{isFiltered ? text.noneFound : text.noPlays}</p>}
      {days.map(({ day, seconds, plays }) => (
        <section>
          <h2>
            {DAY.format(Date.parse(day))}
            {seconds !== undefined && <span class="muted small"> · {text.duration(seconds)}</span>}
          </h2>
          <ul class="rows links">
            {plays.map((play) => (
              <PlayRow play={play} podcast />
            ))}
          </ul>
        </section>
      ))}
      {searchedTo !== null && (
        <p class="muted">
          {text.searchedTo} <Time ms={searchedTo} format="day" />.
        </p>
      )}
      {next && (
        <LinkLine href={historyPath(filters, { after: next })}>
          {searchedTo === null ? text.older : text.searchOn}
        </LinkLine>
      )}
      {hasPlays && <Downloads />}
      <p class="muted small">{text.daysIn(zone)}</p>
    </ListeningLayout>
  );
}

function Downloads() {
  return (
    <div class="bar">
      <span>{text.export}</span>
      <ButtonLink href="/listening/plays.csv">{text.csv}</ButtonLink>
      <ButtonLink href="/listening/plays.json">{text.json}</ButtonLink>
    </div>
  );
}
