// Servers with Nextcloud's gPodder Sync app.
import { z } from "zod";
import { type Moving, nothingFrom } from "../domain/moving-in.ts";
import { readEpisodes } from "./actions.ts";
import { type Remote, readAnswer, readJson } from "./remote.ts";

const PLACE = "/index.php/apps/gpoddersync";
const Changes = z.object({ add: z.array(z.unknown()) });

/** Whether a server has this app, and what it says of the account. */
export async function findNextcloud(remote: Remote) {
  const answer = await remote.send(`${PLACE}/subscriptions?since=0`);
  return { isFound: answer.status === 401 || Changes.safeParse(readJson(answer)).success, answer };
}

/** @throws DomainError "unauthorized", "unavailable", "too_large" */
export async function readNextcloud(remote: Remote): Promise<Moving> {
  const { answer } = await findNextcloud(remote);
  const { add } = readAnswer(remote, answer, Changes, "subscriptions", "gPodder Sync");
  const urls = add.filter((url) => typeof url === "string");
  return {
    ...nothingFrom(remote.host),
    feeds: urls.map((feed_url) => ({ feed_url, title: null, guid: null })),
    ...(await readEpisodes(remote, (since) => `${PLACE}/episode_action?since=${since}`)),
  };
}
