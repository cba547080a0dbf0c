// The form that filters the history of listening.
/** @jsxImportSource hono/jsx */
import type { PlayEntry } from "../../../services/listening/play-list.ts";
import { nameOf } from "../../../services/subscriptions/podcasts.ts";
import { Choice } from "../fields.tsx";
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
  /** The same of apps. */
  apps: Map<string, string>;
}

export function Filter({ filters: { podcast, by, search }, podcasts, apps }: FilterProps) {
  return (
    <form method="get" action="/listening/history" class="bar filter">
      <input
        type="search"
        name="search"
        value={search}
        aria-label={text.search}
        placeholder={text.search}
        autocomplete="off"
      />
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
