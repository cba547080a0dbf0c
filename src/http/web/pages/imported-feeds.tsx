// Feeds of a file, by title and host: a feed URL may hold a secret.
/** @jsxImportSource hono/jsx */
import type { ImportedFeed } from "../../../services/subscriptions/imports.ts";
import { texts } from "../texts.ts";

/** Feeds that are named. */
const NAMED = 50;

/** The first of some feeds, each with the reason for which it can't be used if it has one. */
export function ImportedFeeds({ feeds }: { feeds: (ImportedFeed & { reason?: string })[] }) {
  return (
    <ul>
      {feeds.slice(0, NAMED).map(({ title, host, reason }) => (
        <li>
          <bdi>{title ?? host ?? texts.moveIn.noTitle}</bdi>
          {title && host && <span class="small muted"> {host}</span>}
          {reason && `: ${reason}`}
        </li>
      ))}
      {feeds.length > NAMED && <li class="muted">{texts.moveIn.more(feeds.length - NAMED)}</li>}
    </ul>
  );
}
