// Rows in the list of podcasts.
/** @jsxImportSource hono/jsx */
import { hostOf } from "../../../domain/readable-url.ts";
import { nameOf, type Podcast } from "../../../services/subscriptions/podcasts.ts";
import { HUES } from "../assets.ts";
import { ActionButton, NOTICE } from "../layout.tsx";
import { texts } from "../texts.ts";

interface RowProps {
  podcast: Podcast;
  hue: number;
  /** Whether the page opens here. */
  used: boolean;
  /** Whether the notice is about what is used. */
  described: boolean;
}

export function Row({ podcast, hue, used, described }: RowProps) {
  const { guid, title, feed_url } = podcast;
  return (
    <li>
      <a href={`/podcasts/${guid}`} autofocus={used} aria-describedby={used && described ? NOTICE : undefined}>
        <Tile podcast={podcast} hue={hue} />
        <span>
          <bdi>{nameOf(podcast)}</bdi>
          {title && <small>{hostOf(feed_url)}</small>}
        </span>
      </a>
    </li>
  );
}

export function UndoRow({ podcast, hue }: { podcast: Podcast; hue: number }) {
  const { podcasts } = texts;
  return (
    <li>
      <Tile podcast={podcast} hue={hue} />
      <span class="grow">
        <bdi>{nameOf(podcast)}</bdi>
        <small>{podcasts.unsubscribed}</small>
      </span>
      <ActionButton
        action={`/podcasts/${podcast.guid}/subscribe`}
        label={podcasts.undoNamed(nameOf(podcast))}
        autofocus
      >
        {podcasts.undo}
      </ActionButton>
    </li>
  );
}

/** A hue for each podcast by its guid; another one if it would look like the hue before. */
export function huesOf(podcasts: Podcast[]): { podcast: Podcast; hue: number }[] {
  let last = -HUES;
  return podcasts.map((podcast) => {
    let hue = Number.parseInt(podcast.guid.slice(0, 4), 16) % HUES;
    const distance = Math.abs(hue - last);
    if (Math.min(distance, HUES - distance) < 2) hue = (hue + HUES / 2) % HUES;
    last = hue;
    return { podcast, hue };
  });
}

/** The first letter of the name on a color. */
function Tile({ podcast, hue }: { podcast: Podcast; hue: number }) {
  const letter = /[\p{L}\p{N}]/u.exec(nameOf(podcast))?.[0]?.toUpperCase() ?? "•";
  return (
    <span class={`hue${hue}`} aria-hidden="true">
      {letter}
    </span>
  );
}
