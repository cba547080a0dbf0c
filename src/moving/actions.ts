// Episode actions of another server, in as many responses as it gives them.
import { z } from "zod";
import type { EpisodeAction } from "../domain/episode-actions.ts";
import { UNTIMED } from "../domain/moving-in.ts";
import { readAction } from "../domain/sent-actions.ts";
import { hashText } from "../domain/text-keys.ts";
import { DomainError } from "../errors.ts";
import { type Remote, readAnswer } from "./remote.ts";

const MOST_ACTIONS = 1_000_000;
const MOST_RESPONSES = 1000;

const Actions = z.object({ actions: z.array(z.unknown()), timestamp: z.coerce.number().catch(0) });

/** Reads all actions, and what a position of 0 means in them. @throws as `readActions` does */
export async function readEpisodes(remote: Remote, pathOf: (since: number) => string) {
  const actions = await readActions(remote, pathOf);
  const marksStart = actions.some(({ position }) => position === 0) && (await remote.isPodkeep());
  return { actions, marksStart };
}

/**
 * Reads all actions; those that can't be read are left out, as in an upload.
 * @param pathOf the path for what came since a time in seconds
 * @throws DomainError "too_large" if there are more than a million, or too many parts
 */
async function readActions(remote: Remote, pathOf: (since: number) => string): Promise<EpisodeAction[]> {
  const all: EpisodeAction[] = [];
  const seen = new Set<string>();
  let since = 0;
  let isSkipped = false;
  for (let responses = 0; responses < MOST_RESPONSES; responses++) {
    const answer = await remote.send(pathOf(since));
    const data = readAnswer(remote, answer, Actions, "episode actions", "gPodder's API");
    // Some servers begin before `since`, so that nothing is missed.
    const fresh = data.actions.filter((one) => isFresh(seen, one));
    for (const one of fresh) {
      const action = readAction(one, UNTIMED);
      if (!("unread" in action)) all.push(action);
    }
    if (seen.size > MOST_ACTIONS) throw new DomainError("too_large", `${remote.host} has more than a million actions`);
    // gpodder.net gives a thousand from the second of the last one on: if that has as many, the next second follows.
    const isStuck: boolean = data.timestamp === since && data.actions.length > 0 && (fresh.length > 0 || !isSkipped);
    // A server that gives a part goes on from its timestamp; one that gave all has no more.
    if (!isStuck && fresh.length === 0) return all;
    since = isStuck ? since + 1 : data.timestamp;
    isSkipped = isStuck;
  }
  throw new DomainError("too_large", `${remote.host} gives its episode actions in more than ${MOST_RESPONSES} parts`);
}

function isFresh(seen: Set<string>, action: unknown): boolean {
  const before = seen.size;
  return seen.add(hashText(JSON.stringify(action))).size > before;
}
