// AntennaPod queues what it applies of a response, and drops that only once its upload is answered:
// SyncService.java, syncSubscriptions.
import { expect, test } from "bun:test";
import { addElsewhere, askAs, FEED, openForEach } from "./phone.ts";

openForEach(addElsewhere);

const NEXTCLOUD = "/index.php/apps/gpoddersync";
const PHONE = "/api/2/subscriptions/ann/phone.json";
const OWN = "https://feeds.example/own";
const NEWS = "https://feeds.example/news";

const changeElsewhere = (feed: string, on: boolean) =>
  askAs("Elsewhere/1")(
    "POST",
    "/api/2/subscriptions/ann/other.json",
    on ? { add: [feed], remove: [] } : { add: [], remove: [feed] },
  );
const list = () => askAs("Elsewhere/1")("GET", "/subscriptions/ann/other.json");

for (const [protocol, get, post] of [
  ["the gPodder API", PHONE, PHONE],
  ["Nextcloud", `${NEXTCLOUD}/subscriptions`, `${NEXTCLOUD}/subscription_change/create`],
] as const) {
  /** A phone that receives a change and uploads what its user added, but not the response to that. */
  const syncWithoutResponse = async (change: () => Promise<unknown>) => {
    const ask = askAs("AntennaPod/3.11.4");
    const { timestamp } = await ask("GET", `${get}?since=0`);
    await change();
    await ask("GET", `${get}?since=${timestamp}`);
    await ask("POST", post, { add: [OWN], remove: [] });
    /** The next sync. */
    return async (add: string[], remove: string[]) => {
      await ask("GET", `${get}?since=${timestamp}`);
      await ask("POST", post, { add: [OWN, ...add], remove });
    };
  };

  test(`what another app removed stays so, though AntennaPod with ${protocol} echoes that it had received it`, async () => {
    const sync = await syncWithoutResponse(() => changeElsewhere(NEWS, true));
    await changeElsewhere(NEWS, false);
    await sync([NEWS], []);
    expect(await list()).toEqual([FEED, OWN]);
  });

  test(`what another app added again stays so, though AntennaPod with ${protocol} echoes that it was removed`, async () => {
    const sync = await syncWithoutResponse(() => changeElsewhere(FEED, false));
    await changeElsewhere(FEED, true);
    await sync([], [FEED]);
    expect((await list()).toSorted()).toEqual([OWN, FEED]);
  });

  test(`what another app removes and adds again around an upload of AntennaPod with ${protocol}, its user can remove`, async () => {
    const ask = askAs("AntennaPod/3.11.4");
    let since: number = (await ask("GET", `${get}?since=0`)).timestamp;
    const read = async () => {
      since = (await ask("GET", `${get}?since=${since}`)).timestamp;
    };
    await read();
    await changeElsewhere(FEED, false);
    await ask("POST", post, { add: [OWN], remove: [] });
    await changeElsewhere(FEED, true);
    await read();
    await ask("POST", post, { add: [], remove: [FEED] });
    expect(await list()).toEqual([OWN]);
  });

  test(`what AntennaPod with ${protocol} received, its user can remove before the next sync`, async () => {
    const sync = await syncWithoutResponse(() => changeElsewhere(NEWS, true));
    await sync([], [NEWS]);
    expect(await list()).toEqual([FEED, OWN]);
  });
}
