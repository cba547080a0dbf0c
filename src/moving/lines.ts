// What moves in as lines of JSON, so that many episodes are read and written in turns.
import { z } from "zod";
import { type Moving, MovingAction, MovingDevice, MovingFeed, MovingPlay, nothingFrom } from "../domain/moving-in.ts";
import { isText } from "../domain/sent-actions.ts";
import { DomainError } from "../errors.ts";
import { parseJson } from "../json.ts";
import { describeSize } from "../sizes.ts";
import { takeTurns } from "../turns.ts";

const Line = z.union([
  z.tuple([z.literal("actions"), MovingAction]),
  z.tuple([z.literal("untimed"), MovingAction]),
  z.tuple([z.literal("plays"), MovingPlay]),
  z.tuple([z.literal("feeds"), MovingFeed]),
  z.tuple([z.literal("devices"), MovingDevice]),
  z.tuple([z.literal("source"), z.string().max(500).refine(isText)]),
  z.tuple([z.literal("isOwn"), z.boolean()]),
  z.tuple([z.literal("marksStart"), z.boolean()]),
]);

export function* writeMoving({ source, isOwn, marksStart, ...lists }: Moving): Generator<string> {
  for (const said of Object.entries({ source, isOwn, marksStart })) yield `${JSON.stringify(said)}\n`;
  for (const [name, list] of Object.entries(lists)) {
    for (let start = 0; start < list.length; start += 100) {
      yield list
        .slice(start, start + 100)
        .map((one) => `${JSON.stringify([name, one])}\n`)
        .join("");
    }
  }
}

/** Bytes of a line: an episode has four texts of 8 KB, which JSON may escape. A longer one takes long to parse. */
const LONGEST_LINE = 256 * 1024;

/** What may move in at once on the page; a command takes all that a file has. */
export interface MovingLimits {
  feeds: number;
  episodes: number;
  devices: number;
  /** Bytes of the lines. */
  bytes: number;
}

/**
 * Reads lines as they arrive.
 * @throws DomainError "invalid" for other lines, "too_large" if there are more than may be
 */
export async function readMoving(lines: AsyncIterable<Uint8Array>, limits: MovingLimits): Promise<Moving> {
  const moving = nothingFrom("");
  const giveTurn = takeTurns();
  let bytes = 0;
  let rest: Uint8Array = new Uint8Array();
  for await (const chunk of lines) {
    bytes += chunk.length;
    if (bytes > limits.bytes) throw tooLarge(`There is more than ${describeSize(limits.bytes)} of text`);
    const part = Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end = part.indexOf("\n"); end >= 0; end = part.indexOf("\n", start)) {
      addLine(moving, part.toString("utf8", start, end));
      start = end + 1;
      requireFew(moving.feeds.length, limits.feeds, "podcasts");
      requireFew(moving.devices.length, limits.devices, "devices");
      requireFew(
        moving.actions.length + moving.untimed.length + moving.plays.length,
        limits.episodes,
        "positions and marks of episodes",
      );
      await giveTurn();
    }
    rest = part.subarray(start);
    if (rest.length > LONGEST_LINE) throw changedOnTheWay();
  }
  if (rest.length > 0) throw changedOnTheWay();
  return moving;
}

function requireFew(count: number, most: number, what: string): void {
  if (count > most) throw tooLarge(`There are more than ${most} ${what}`);
}

const tooLarge = (what: string) => new DomainError("too_large", `${what}: the admin can add all with podkeep import`);

/** The error for lines that the page gave out, and that somebody has changed since. */
export const changedOnTheWay = () =>
  new DomainError("invalid", "What moves in was changed on the way: upload the file again");

function addLine(moving: Moving, text: string): void {
  const { data } = Line.safeParse(text.length > LONGEST_LINE ? null : parseJson(text));
  if (!data) throw changedOnTheWay();
  const [name, value] = data;
  if (name === "source") moving.source = value;
  else if (name === "isOwn") moving.isOwn = value;
  else if (name === "marksStart") moving.marksStart = value;
  else if (name === "feeds") moving.feeds.push(value);
  else if (name === "devices") moving.devices.push(value);
  else if (name === "plays") moving.plays.push(value);
  else moving[name].push(value);
}
