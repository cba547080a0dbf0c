// The form that filters the history of listening.
/** @jsxImportSource hono/jsx */
import { useContext } from "hono/jsx";
import type { ChangedBy } from "../../../domain/history.ts";
import type { PlayEntry } from "../../../services/play-list.ts";
import { nameOf } from "../../../services/podcasts.ts";
import { FrameContext } from "../frame.ts";
import { choicesOf } from "../layout.tsx";
import { texts } from "../texts.ts";

const text = texts.listening;

export interface Filters {
  podcast: number | undefined;
  by: string;
  search: string;
}

/** Names of the podcasts of some plays, by id. */
export const podcastsOf = (plays: PlayEntry[]) => new Map(plays.map((play) => [String(play.podcast), nameOf(play)]));

interface FilterProps {
  filters: Filters;
  /** Names of the podcasts that are offered, by id. */
  podcasts: Map<string, string>;
  /** What the podcast of the filter is called, if it is in the list. */
  podcastName: string | null;
  players: ChangedBy[];
}

export function Filter({ filters: { podcast, by, search }, podcasts, podcastName, players }: FilterProps) {
  const { captions } = useContext(FrameContext);
  const apps = choicesOf(players, by, captions);
  if (podcast && podcastName !== null) podcasts.set(String(podcast), podcastName);
  if (podcast && !podcasts.has(String(podcast))) podcasts.set(String(podcast), text.thisPodcast);
  return (
    <form method="get" action="/listening/history" class="bar filter">
      <input type="search" name="search" value={search} aria-label={text.search} placeholder={text.search} />
      {(podcast || podcasts.size > 1) && (
        <Choice
          name="podcast"
          label={text.podcast}
          all={text.allPodcasts}
          options={podcasts}
          chosen={String(podcast)}
        />
      )}
      {apps.size > 1 && <Choice name="by" label={text.app} all={text.allApps} options={apps} chosen={by} />}
      <button type="submit">{text.filter}</button>
    </form>
  );
}

interface ChoiceProps {
  name: string;
  label: string;
  /** What no choice is called. */
  all: string;
  options: Map<string, string>;
  chosen: string;
}

function Choice({ name, label, all, options, chosen }: ChoiceProps) {
  return (
    <select name={name} aria-label={label}>
      <option value="">{all}</option>
      {[...options].map(([value, text]) => (
        <option value={value} selected={value === chosen}>
          {text}
        </option>
      ))}
    </select>
  );
}
