// The checks of the gPodder API and of Nextcloud's gPodder Sync that are no races.
import type { Check } from "../check.ts";
import { expectEqual } from "../expect.ts";
import { anotherUser } from "./another-user.ts";
import type { SyncApp } from "./apps.ts";
import { requireTwoPasswords, scriptFor, syncClient } from "./client.ts";
import type { Demand } from "./demand.ts";
import { episodeDemands, largeUpload } from "./episodes.ts";
import { gpodderDemands } from "./gpodder.ts";
import { nextcloudDemands } from "./nextcloud.ts";
import { feedDemands, largeList } from "./subscriptions.ts";

type Protocol = SyncApp["protocol"];

const wrongPassword: Demand = {
  key: "auth/wrong-password-is-401",
  says: "A wrong password is answered 401",
  source: "gPodder API, Authentication",
  level: "MUST",
  async run(prober, client) {
    const wrong = `Basic ${Buffer.from(`${prober.target.user}:no-password-of-a-check`).toString("base64")}`;
    const { status } = await prober.request("GET", `${client.paths.read}?since=0`, {
      headers: { Authorization: wrong },
    });
    expectEqual("status", status, 401);
  },
};

/** In the order of reports. */
const DEMANDS: Record<Protocol, Demand[]> = {
  gpodder: [wrongPassword, ...feedDemands, ...episodeDemands, anotherUser, ...gpodderDemands],
  nextcloud: [wrongPassword, ...feedDemands, ...episodeDemands, anotherUser, ...nextcloudDemands],
};

const checkOf = (protocol: Protocol, { key, says, source, level, needs = [], of_two_apps, run }: Demand): Check => ({
  id: `${protocol}/${key}`,
  says,
  source,
  level,
  needs: needs.map((one) => `${protocol}/${one}`),
  async run(prober) {
    if (of_two_apps && protocol === "nextcloud") requireTwoPasswords(prober);
    const client = syncClient(prober, scriptFor(protocol), `c-${prober.id}-1`);
    const another = syncClient(prober, scriptFor(protocol), `c-${prober.id}-2`, "second");
    // Every app reads the subscriptions first, which is where it names its device, if its protocol has devices.
    if (protocol === "gpodder") for (const one of [client, another]) await one.readFeeds(0);
    await run(prober, client, another);
  },
});

export const appChecksOf = (protocol: Protocol): Check[] =>
  DEMANDS[protocol].map((demand) => checkOf(protocol, demand));

/** They leave hundreds of actions in the account, which each request for all of them gets from then on. */
export const largeChecksOf = (protocol: Protocol): Check[] =>
  [largeList, largeUpload].map((demand) => checkOf(protocol, demand));
