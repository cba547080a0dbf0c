// Servers with gPodder's API: gpodder.net, oPodSync, goPodder, PodFetch, PinePods, podkeep.
import { z } from "zod";
import { type Moving, MovingDevice, nothingFrom } from "../domain/moving-in.ts";
import { isText } from "../domain/sent-actions.ts";
import { hashText } from "../domain/text-keys.ts";
import { readEpisodes } from "./actions.ts";
import { type Answer, type Remote, readAnswer, readJson, readList, requireOk } from "./remote.ts";

const Devices = z.array(z.unknown());

/** A podcast: its URL alone, `url` as gpodder.net has it, or `feed` as oPodSync, whose list has removed ones too. */
const Podcast = z.union([
  z.string().transform((url) => ({ url, title: null, mayBeRemoved: false })),
  z
    .object({ url: z.string().nullish(), feed: z.string().nullish(), title: z.string().nullish().catch(null) })
    .transform(({ url, feed, title = null }) => {
      return { url: feed ?? url ?? "", title, mayBeRemoved: typeof feed === "string" && feed !== url };
    }),
]);
const Podcasts = z.array(Podcast);
const Changes = z.object({ add: z.array(z.string()), remove: z.array(z.string()).catch([]) });

/** Whether a server has this API, and what it says of the account. */
export async function findGpodder(remote: Remote) {
  const { user } = remote;
  const name = encodeURIComponent(user);
  // Some servers take nothing but the cookie of this response; others don't have the route.
  await remote.send(`/api/2/auth/${name}/login.json`, "POST");
  const answer = await remote.send(`/api/2/devices/${name}.json`);
  return { isFound: !isMissing(answer), answer };
}

const isMissing = ({ status }: Answer) => status === 404 || status === 405;

/** @throws DomainError "unauthorized", "unavailable", "too_large" */
export async function readGpodder(remote: Remote): Promise<Moving> {
  const { host, user } = remote;
  const name = encodeURIComponent(user);
  const moving = nothingFrom(host);
  const { answer } = await findGpodder(remote);
  requireOk(remote, answer, "devices");
  const devices = Devices.safeParse(readJson(answer)).data ?? [];
  moving.devices = devices.flatMap((one) => MovingDevice.safeParse(one).data ?? []).filter(({ id }) => isText(id));
  moving.feeds = await readFeeds(remote, name, moving.devices);
  return { ...moving, ...(await readEpisodes(remote, (since) => `/api/2/episodes/${name}.json?since=${since}`)) };
}

async function readFeeds(remote: Remote, name: string, devices: Moving["devices"]): Promise<Moving["feeds"]> {
  const podcasts = await readPodcasts(remote, name, devices);
  const needsTitles = podcasts.some(({ url, title }) => title === null || title === url);
  const list = needsTitles ? readList(await remote.send(`/subscriptions/${name}.opml`)) : [];
  const titles = new Map(list.map(({ feed_url, title }) => [hashText(feed_url), title]));
  return podcasts
    .filter(({ url }) => url !== "")
    .map(({ url, title }) => ({ feed_url: url, title: titles.get(hashText(url)) ?? title, guid: null }));
}

async function readPodcasts(remote: Remote, name: string, devices: Moving["devices"]) {
  const answer = await remote.send(`/subscriptions/${name}.json`);
  const listed = answer.status === 200 ? Podcasts.safeParse(readJson(answer)).data : undefined;
  if (listed?.some(({ mayBeRemoved }) => mayBeRemoved))
    return withoutRemoved(remote, changesOf(name, devices[0]?.id ?? "podkeep"), listed);
  if (listed) return listed;
  if (isMissing(answer) || devices.length > 0) return readDevices(remote, name, devices);
  return readAnswer(remote, answer, Podcasts, "subscriptions", "gPodder's API");
}

const changesOf = (name: string, device: string) =>
  `/api/2/subscriptions/${name}/${encodeURIComponent(device)}.json?since=0`;

/** @param path of a device's changes: oPodSync says the same to each, also to one that it doesn't know */
async function withoutRemoved(remote: Remote, path: string, listed: z.infer<typeof Podcasts>) {
  const answer = await remote.send(path);
  if (isMissing(answer)) return listed;
  const { remove } = readAnswer(remote, answer, Changes, "subscriptions", "gPodder's API");
  const removed = new Set(remove.map(hashText));
  return listed.filter(({ url }) => !removed.has(hashText(url)));
}

/** The lists of all devices, for servers that have no list of the user. */
async function readDevices(remote: Remote, name: string, devices: Moving["devices"]) {
  const urls = new Map<string, string>();
  for (const { id } of devices) {
    const answer = await remote.send(changesOf(name, id));
    const { add } = readAnswer(remote, answer, Changes, "subscriptions", "gPodder's API");
    for (const url of add) urls.set(hashText(url), url);
  }
  return [...urls.values()].map((url) => ({ url, title: null }));
}
