// podkeep's own export: the account as JSON.
import { z } from "zod";
import { DEVICE_TYPES } from "../domain/device-types.ts";
import { EPISODE_KINDS, type Place } from "../domain/episode-actions.ts";
import { followMerges, isSubscribed } from "../domain/history.ts";
import { type Moving, nothingFrom } from "../domain/moving-in.ts";
import { readAction } from "../domain/sent-actions.ts";
import { DomainError } from "../errors.ts";
import { parseJson } from "../json.ts";

const id = z.int();
const seconds = z.int().nullable();
const place = { episode: id, started: seconds, position: seconds, total: seconds };

const Export = z.object({
  tables: z.object({
    subscriptions: z.array(
      z.object({
        id,
        feed_url: z.string(),
        guid: z.guid(),
        title: z.string().nullish().default(null),
        is_subscribed: z.int(),
        deleted: z.int().nullable(),
      }),
    ),
    history: z.array(z.object({ subscription: id.nullable(), merged_into: id.nullable() })).default([]),
    devices: z.array(z.object({ id: z.string(), caption: z.string(), type: z.enum(DEVICE_TYPES) })).default([]),
    episodes: z
      .array(
        z.object({ id, podcast: id, feed_url: z.string().nullable(), guid: z.string().nullable(), url: z.string() }),
      )
      .default([]),
    episode_actions: z
      .array(
        z.object({
          ...place,
          kind: z.enum([...EPISODE_KINDS, "played"]),
          acted_at: z.int(),
          device: z.string().nullable(),
        }),
      )
      .default([]),
    plays: z
      .array(z.object({ ...place, begun_at: z.int(), ended_at: z.int(), actor_device: z.string().nullable() }))
      .optional(),
  }),
});

/** @throws DomainError "invalid" if the text is not podkeep's export */
export function readExport(text: string): Moving {
  const { tables } = parse(text);
  const moving = nothingFrom("podkeep");
  const live = tables.subscriptions.filter(isSubscribed);
  // Of an earlier podkeep, which kept no plays, positions are all that is known of listening.
  moving.isOwn = tables.plays !== undefined;
  moving.marksStart = moving.isOwn;
  moving.feeds = live.map(({ feed_url, title, guid }) => ({ feed_url, title, guid: guid.toLowerCase() }));
  moving.devices = tables.devices;
  const feedOf = feedsIn(tables);
  const episodes = new Map(tables.episodes.map((row) => [row.id, row]));
  const read = (row: Place & { episode: number }, action: string, sent_at: number, device: string | null) => {
    const episode = episodes.get(row.episode);
    const podcast = feedOf(episode?.podcast ?? 0) ?? episode?.feed_url;
    const { started, position, total } = row;
    const named = { podcast, episode: episode?.url, guid: episode?.guid };
    const said = readAction({ ...named, device, action, started, position, total }, sent_at);
    return "unread" in said ? [] : [said];
  };
  moving.actions = tables.episode_actions.flatMap((row) =>
    read(row, row.kind === "played" ? "play" : row.kind, row.acted_at, row.device),
  );
  moving.plays = (tables.plays ?? []).flatMap((row) =>
    read(row, "play", row.ended_at, row.actor_device).map((one) => ({ ...one, begun_at: row.begun_at })),
  );
  return moving;
}

type Tables = z.infer<typeof Export>["tables"];

/** Finds the feeds of podcasts. The episodes of one that became part of another may have waited to be moved there. */
function feedsIn({ subscriptions, history }: Tables): (podcast: number) => string | undefined {
  const feeds = new Map(subscriptions.map((row) => [row.id, row.feed_url]));
  const chainOf = followMerges(history);
  return (podcast) => {
    const present = [...chainOf(podcast)].find((id) => feeds.has(id));
    return present === undefined ? undefined : feeds.get(present);
  };
}

function parse(text: string) {
  const { data } = Export.safeParse(parseJson(text));
  if (data) return data;
  throw new DomainError("invalid", "The file is JSON, but not podkeep's export: export it again on the account's page");
}
