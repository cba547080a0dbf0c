// Variants of this server that break one rule which apps meet between two syncs only.
import { answers, type Broken, hears, instead, itemsOf, type Json } from "./changes.ts";

const READ = { method: "GET", path: /^\/+(api\/2\/subscriptions\/|index.php\/apps\/gpoddersync\/subscriptions)/ };
const SEND = { method: "POST", path: /^\/(api\/2\/subscriptions\/|index.php\/apps\/gpoddersync\/subscription_change)/ };

const feedsIn = (body: Json, field: "add" | "remove") => (Array.isArray(body[field]) ? (body[field] as string[]) : []);
/** What a request tells of the device that sends it. */
const deviceOf = ({ url, headers }: Request) =>
  [new URL(url).pathname, headers.get("user-agent"), headers.get("authorization"), headers.get("cookie")].join(" ");

/** Changes downloads by who asks. */
const tells =
  (alter: (body: Json, device: string, isFirst: boolean) => Json): Broken["change"] =>
  (send) =>
  (request) => {
    const isFirst = Number(new URL(request.url).searchParams.get("since")) === 0;
    return answers(READ, (body) => alter(body, deviceOf(request), isFirst))(send)(request);
  };

const READ_PLAYS = { method: "GET", path: /^\/(api\/2\/episodes\/|index.php\/apps\/gpoddersync\/episode_action$)/ };
const SEND_PLAYS = { method: "POST", path: /^\/(api\/2\/episodes\/|index.php\/apps\/gpoddersync\/episode_action\/)/ };

interface BrokenRace extends Broken {
  /** The apps with which it can be seen; default: all. */
  apps?: string[];
}

/** `breaks` has the last part of the ids. */
export const BROKEN_RACES: BrokenRace[] = [
  {
    breaks: ["syncs"],
    does: "takes no place of a podcast that another device does not have",
    change: instead(SEND_PLAYS, () => new Response("", { status: 409 })),
  },
  {
    breaks: ["earlier-play-arrives-later"],
    // gPodder keeps the time of each place, and PinePods the place further on.
    apps: ["antennapod", "kasts"],
    does: "gives the place that arrived last",
    change(send) {
      const sent: Json[] = [];
      const keeping = instead(SEND_PLAYS, async (request) => {
        sent.push(...((await request.json()) as Json[]));
        return null;
      })(send);
      return answers(READ_PLAYS, (body) => {
        const last = new Map(sent.map((play) => [play["episode"], play]));
        const actions = itemsOf(body, "actions").map((one) => ({ ...one, ...last.get(one["episode"]) }));
        const told = new Set(actions.map(({ episode }) => episode));
        return { ...body, actions: [...actions, ...sent.filter(({ episode }) => !told.has(episode)).slice(-1)] };
      })(keeping);
    },
  },
  {
    breaks: ["idle-for-several-syncs"],
    does: "has no news for a device that had none twice",
    change(send) {
      const idle = new Map<string, number>();
      return tells((body, device, isFirst) => {
        const times = isFirst ? 0 : (idle.get(device) ?? 0);
        if (times >= 2) return { ...body, add: [], remove: [] };
        const isIdle = !isFirst && feedsIn(body, "add").length + feedsIn(body, "remove").length === 0;
        idle.set(device, isIdle ? times + 1 : 0);
        return body;
      })(send);
    },
  },
  {
    breaks: ["download-lost"],
    does: "tells each device of a change once",
    change(send) {
      const told = new Set<string>();
      return tells((body, device, isFirst) => {
        if (isFirst) return body;
        const add = feedsIn(body, "add").filter((feed) => !told.has(`${device} ${feed}`));
        for (const feed of add) told.add(`${device} ${feed}`);
        return { ...body, add };
      })(send);
    },
  },
  {
    breaks: ["upload-lost", "removed-and-added-again-between-syncs"],
    does: "refuses an upload that it had before",
    change(send) {
      const had = new Set<string>();
      return instead(SEND, async (request) => {
        const text = await request.text();
        if (had.has(text)) return new Response("", { status: 409 });
        had.add(text);
        return null;
      })(send);
    },
  },
  {
    breaks: ["added-and-removed-between-syncs", "its-removal-reaches-all"],
    does: "keeps what was removed right after it was added",
    change(send) {
      let added: string[] = [];
      return hears(SEND, (body) => {
        const remove = feedsIn(body, "remove").filter((feed) => !added.includes(feed));
        added = feedsIn(body, "add");
        return { ...body, remove };
      })(send);
    },
  },
  {
    breaks: ["removed-and-added-again-between-syncs"],
    does: "does not add what was removed before",
    change(send) {
      const removed = new Set<string>();
      return hears(SEND, (body) => {
        for (const feed of feedsIn(body, "remove")) removed.add(feed);
        return { ...body, add: feedsIn(body, "add").filter((feed) => !removed.has(feed)) };
      })(send);
    },
  },
];
