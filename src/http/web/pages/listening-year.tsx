// Hours of a year, by month and by podcast.
/** @jsxImportSource hono/jsx */
import type { Year } from "../../../services/listening/listening-hours.ts";
import { texts } from "../texts.ts";
import { Bar, historyPath, ListeningLayout } from "./listening.tsx";

const text = texts.listening;

/** Podcasts with bars of their own. */
const MOST_PODCASTS = 50;
const MONTH = new Intl.DateTimeFormat("en-GB", { month: "long", timeZone: "UTC" });

interface YearProps {
  year: number;
  hours: Year;
  /** The first year with plays, and the present one. */
  first: number;
  last: number;
  zone: string | null;
}

export function YearPage({ year, hours, first, last, zone }: YearProps) {
  const { months, podcasts, seconds } = hours;
  const most = Math.max(...months);
  const shown = podcasts.slice(0, MOST_PODCASTS);
  const rest = podcasts.slice(MOST_PODCASTS);
  return (
    <ListeningLayout tab="/year" title={String(year)}>
      <h2>{seconds > 0 ? text.listenedIn(year, text.duration(seconds)) : text.noneIn(year)}</h2>
      <div class="pages">
        {year > first ? <a href={`/listening/year?year=${year - 1}`}>{year - 1}</a> : <span />}
        {year < last ? <a href={`/listening/year?year=${year + 1}`}>{year + 1}</a> : <span />}
      </div>
      {seconds > 0 && (
        <>
          <h3>{text.byMonth}</h3>
          <ul class="rows bars">
            {months.map((time, month) => (
              <BarRow name={MONTH.format(Date.UTC(2000, month, 1))} seconds={time} part={time / most} />
            ))}
          </ul>
          <h3>{text.byPodcast}</h3>
          <ul class="rows bars">
            {shown.map((one) => (
              <BarRow
                name={one.name}
                href={historyPath({ podcast: one.podcast })}
                seconds={one.seconds}
                part={one.seconds / (shown[0]?.seconds ?? 1)}
              />
            ))}
            {rest.length > 0 && (
              <BarRow
                name={text.others(rest.length)}
                seconds={rest.reduce((sum, one) => sum + one.seconds, 0)}
                part={null}
              />
            )}
          </ul>
        </>
      )}
      <p class="muted small">{text.daysIn(zone)}</p>
    </ListeningLayout>
  );
}

interface BarRowProps {
  name: string;
  href?: string;
  seconds: number;
  /** Of the longest bar; null for no bar. */
  part: number | null;
}

function BarRow({ name, href, seconds, part }: BarRowProps) {
  return (
    <li>
      <div class="grow">
        <bdi>{href ? <a href={href}>{name}</a> : name}</bdi> <span class="muted small">{text.duration(seconds)}</span>
        {part !== null && <Bar part={part} />}
      </div>
    </li>
  );
}
