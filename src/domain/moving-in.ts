// What moves in from another server or from a file.
import { z } from "zod";
import { isWritable } from "./date-time.ts";
import { DEVICE_TYPES } from "./device-types.ts";
import { EPISODE_KINDS } from "./episode-actions.ts";
import { MOST_SECONDS } from "./play-time.ts";
import { isText } from "./sent-actions.ts";

const text = z.string().refine(isText);
const seconds = z.int().min(0).max(MOST_SECONDS).nullable();

/** An episode action. */
export const MovingAction = z.object({
  feed_url: text,
  episode_url: text,
  guid: text.nullable(),
  kind: z.enum(EPISODE_KINDS),
  sent_at: z.int().refine(isWritable),
  started: seconds,
  position: seconds,
  total: seconds,
  device: text.nullable(),
  heard: z.int().min(0).max(MOST_SECONDS).optional(),
});

/** A stretch of listening, as podkeep keeps it: an action that says when it began. */
export const MovingPlay = MovingAction.extend({ begun_at: z.int().refine(isWritable) });

export const MovingFeed = z.object({ feed_url: z.string(), title: z.string().nullable(), guid: z.guid().nullable() });

export const MovingDevice = z.object({
  id: z.string(),
  caption: z.string().catch(""),
  type: z.enum(DEVICE_TYPES).catch("other"),
});

/** Subscriptions, episodes and devices of a user elsewhere. */
export interface Moving {
  /** Where it comes from: a host, or what wrote the file. */
  source: string;
  /** Whether it is podkeep's export: `plays` has all that was listened to. */
  isOwn: boolean;
  /** Whether a position of 0 is the start of an episode, as podkeep has it. */
  marksStart: boolean;
  feeds: z.infer<typeof MovingFeed>[];
  devices: MovingDevice[];
  /** In the order in which they arrived there. */
  actions: z.infer<typeof MovingAction>[];
  /** Positions and marks without a time: all that is here is later. */
  untimed: z.infer<typeof MovingAction>[];
  /** What was listened to, if the source says it apart: then actions are only positions. */
  plays: z.infer<typeof MovingPlay>[];
}

export type MovingDevice = z.infer<typeof MovingDevice>;

/** A source's data before anything is read. */
export const nothingFrom = (source: string): Moving => ({
  source,
  isOwn: false,
  marksStart: false,
  feeds: [],
  devices: [],
  actions: [],
  untimed: [],
  plays: [],
});

/** The time of actions that have none: the second after 1970 began, because gPodder ignores 1970 itself. */
export const UNTIMED = 1000;
